"""Files as irtool reads and writes them.

What is read is a file: opening a pipe that nobody writes to would wait for ever, and a device may have no end. What is
written appears whole or not at all. A path that the user names may be a symbolic link, and its end is written, as a shell's `>` does it.
Under a name that irtool chooses, a link is replaced and not followed: a folder may have come from anywhere, with links to anything.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO

from .diagnostics import IrError
from .signals import uninterrupted

if TYPE_CHECKING:
    import tempfile

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_ELSEWHERE = "let TMPDIR name a folder that can be written to"
TEMPORARY = "irtool-"
"""The prefix of the names of temporary folders."""
_DESCRIPTORS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
"""Where the streams stand that this process was given, such as a shell's `<(command)`."""


_recordings: list[dict[str, None]] = []
"""The paths that `recorded` collects at present."""


@contextlib.contextmanager
def recorded() -> Iterator[dict[str, None]]:
    """Collects the paths of the files that `open_file` opens in the block, in their order, each once, without streams."""
    paths: dict[str, None] = {}
    _recordings.append(paths)
    try:
        yield paths
    finally:
        _recordings.remove(paths)


def open_file(path: str | os.PathLike[str], streams: bool = False) -> io.BufferedReader:
    """Opens a file for reading, without waiting for anything.

    With `streams`, also a pipe or terminal that the process was started with, by its path (`/dev/stdin`, `/dev/fd/63`).
    Raises OSError, its `strerror` a sentence, for directories, for pipes, sockets and devices, and where it cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))
    except ValueError:  # Python's way of refusing it
        raise OSError(errno.EINVAL, "there is a null character in its name", os.fspath(path)) from None
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        if not stat.S_ISREG(mode):
            is_stream = streams and os.fspath(path).startswith(_DESCRIPTORS)
            endless = stat.S_ISCHR(mode) and not os.isatty(descriptor)
            if not is_stream or endless:
                raise OSError(errno.EINVAL, f"it is {kind_of(mode)}, not a file", os.fspath(path))
            os.set_blocking(descriptor, True)
        else:
            for paths in _recordings:
                paths[os.fspath(path)] = None
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def open_text(path: str | os.PathLike[str], errors: str = "strict", newline: str | None = None) -> io.TextIOWrapper:
    """Opens a UTF-8 text for reading, as `open_file` does; `errors` and `newline` are those of Python's `open`."""
    return io.TextIOWrapper(open_file(path), encoding="utf-8", errors=errors, newline=newline)


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The contents of a file. Raises OSError as `open_file` does."""
    with open_file(path) as file:
        return file.read()


def is_stream(path: str | os.PathLike[str], follow: bool = True) -> bool:
    """True for a device, a pipe, or a path of a descriptor of this process: there is nothing to rename onto. A link counts as its
    target if it is followed, else as a link."""
    if not follow and os.path.islink(path):
        return False
    if os.path.isdir(path) or not os.path.exists(path):
        return False
    return not os.path.isfile(path) or os.fspath(path).startswith(("/dev/std", "/dev/fd/", "/proc/"))


def kind_of(mode: int) -> str:
    """The kind of an irregular file, by its mode: `a pipe`, `a socket`, `a device`, `a directory`."""
    kind_tests = (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"), (stat.S_ISDIR, "a directory")
    return next((name for holds, name in kind_tests if holds(mode)), "a device")


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder that goes when it is closed. Raises IrError where none can be made, and at its end where a file in it found no room."""
    import tempfile

    class Folder(tempfile.TemporaryDirectory[str]):
        def __exit__(self, kind: Any, error: BaseException | None, trace: TracebackType | None) -> None:
            super().__exit__(kind, error, trace)
            # Where bytes are written, Python says neither which file it was nor in which folder.
            if isinstance(error, OSError) and error.errno in _NO_ROOM and error.filename is None:
                raise IrError(f"cannot write to {self.name}: {error.strerror}", help=_ELSEWHERE) from None

    try:
        with uninterrupted():  # Python first writes a file to see if it can, which a signal would leave behind
            return Folder(prefix=TEMPORARY, ignore_cleanup_errors=True)
    except OSError as error:
        raise IrError(f"cannot make a temporary folder: {error.strerror or error}", help=_ELSEWHERE) from None


class Draft:
    """A file that is written beside its place and takes it only when it is complete; until then nothing there changes.

    `out` is what to write to. As a context manager it is published at the end, and discarded where anything is raised.
    A link is followed, or replaced by a file. A file that is replaced keeps its permissions; a device or a pipe is not replaced, but gets all bytes at the end. Raises
    OSError.
    """

    def __init__(self, path: str | os.PathLike[str], follow: bool = True) -> None:
        import tempfile

        self._stream = os.fspath(path) if is_stream(path, follow) else ""
        self.target = os.path.realpath(path) if follow else _own_place(path)
        if follow and os.path.islink(self.target):  # links that lead to each other
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
        folder, name = os.path.split(self.target)
        folder = tempfile.gettempdir() if self._stream else folder
        # A name of its own must not be longer than the system allows, where the name itself is not.
        descriptor, self._unfinished = tempfile.mkstemp(prefix=f".{name[:200]}.", dir=folder)
        self.out: BinaryIO = os.fdopen(descriptor, "wb")

    @property
    def unfinished(self) -> str:
        """Its temporary path, for writers to paths only."""
        return self._unfinished

    def close(self) -> None:
        """Ends writing. Raises OSError where the disk is full."""
        self.out.close()

    def take(self, path: str | os.PathLike[str]) -> bool:
        """Moves a whole file here, in place of writing; False if it is on another file system, or cannot be moved."""
        try:
            os.replace(path, self._unfinished)
        except OSError:
            return False
        return True

    def publish(self, executable: bool = False) -> None:
        """Puts the file into its place."""
        self.close()
        if self._stream:
            import shutil  # which most commands need not load

            with open(self._unfinished, "rb") as whole, open(self._stream, "wb") as out:
                shutil.copyfileobj(whole, out)
            return
        if hasattr(os, "umask"):  # WASI has no permissions of files
            os.chmod(self._unfinished, _mode(self.target, executable))
        os.replace(self._unfinished, self.target)
        self._unfinished = ""

    def discard(self) -> None:
        """Removes the unpublished file."""
        with contextlib.suppress(OSError):  # what could not be written is not wanted any more
            self.out.close()
        if self._unfinished:
            os.unlink(self._unfinished)
            self._unfinished = ""

    def __enter__(self) -> Draft:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.publish()
        finally:
            self.discard()


def _own_place(path: str | os.PathLike[str]) -> str:
    """The place of a file itself, be it a link; the folder may be reached through links."""
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(folder), name)


def _mode(target: str, executable: bool) -> int:
    mask = os.umask(0)
    os.umask(mask)
    fresh = (0o777 if executable else 0o666) & ~mask
    try:
        mode = os.lstat(target).st_mode
    except OSError:
        return fresh
    return fresh if stat.S_ISLNK(mode) else stat.S_IMODE(mode) | (fresh & 0o111)
