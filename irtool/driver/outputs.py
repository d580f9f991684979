"""The files of a build. Each is written completely or not at all, and none before the contents of all are known."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from ..diagnostics import IrError, ToolError
from ..files import Draft, is_stream
from ..signals import uninterrupted

if TYPE_CHECKING:
    from ..ir import Module
    from ..tir.program import HostFunction


@dataclass(frozen=True)
class Made:
    """A file that this build has made, in its own temporary folder: it may be moved from there."""

    path: Path


Content: TypeAlias = "list[Any] | Path | Made | BinaryIO"
"""What is in a file: buffers, the path of a file to copy, one to move, or one that is open."""

_CHUNK = 1 << 22


@dataclass
class Emission:
    """The output of a build.

    Attributes:
        files: contents by name.
        entries: the entry functions by name, for calling them; the first is the one that `NAME_run` calls.
        library: name of the shared library, if there is one.
        weights: name of the weights file, if there is one.
        program: name of the executable, if there is one.
        failure: the messages of the C compiler, if it failed; `files` are the sources then.
        cached: an earlier build, from the cache.
        digests: the SHA-256 of files, as far as it is known, by name.
        folder: where the cache keeps the files; None if it does not.
        notes: notes of the backend about it.
    """

    files: dict[str, Content]
    entries: dict[str, HostFunction]
    report: dict[str, Any]
    library: str = ""
    weights: str = ""
    program: str = ""
    failure: ToolError | None = None
    cached: bool = False
    prepared: Module | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    digests: dict[str, str] = field(default_factory=dict)
    folder: Path | None = None


def write_files(folder: Path, files: Mapping[str, Content], executable: Iterable[str] = ()) -> list[Path]:
    """Writes files into a folder that is made if it is missing; names are relative to it, or whole paths. Links in the folder are
    replaced and not followed; the folder itself, and a whole path, may be a link.

    All are written beside their places first, then renamed, so that a full disk, a place that cannot be taken, or a signal
    leaves what was there before. Devices and pipes have nothing to rename onto: they are written last. Raises IrError.
    """
    runs = set(executable)
    drafts: list[tuple[Draft, Path, bool]] = []
    streams: list[tuple[Path, Content]] = []
    target = folder
    new = not folder.exists()
    new_folders: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            target = folder / name
            named = os.path.isabs(name)  # by the user; other names are ours
            if target.is_dir() and (named or not target.is_symlink()):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if is_stream(target, named):
                streams.append((target, content))
                continue
            if not named:
                new_folders += make_folders(target.parent)
            with uninterrupted():
                draft = Draft(target, named)
                drafts.append((draft, target, name in runs))
            if not isinstance(content, Made) or not draft.take(content.path):
                _fill(draft.out, content)
            draft.close()
        with uninterrupted():
            for draft, place, runnable in drafts:
                target = place
                draft.publish(runnable)
        for target, content in streams:
            with open(target, "wb") as out:
                _fill(out, content)
    except OSError as error:
        raise IrError(f"cannot write {target}: {error.strerror or error}") from None
    finally:
        for draft, _, _ in drafts:
            draft.discard()
        for inner in reversed(new_folders):  # of a build that failed
            if not any(inner.iterdir()):
                inner.rmdir()
        if new and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    return [folder / name for name in files]


def make_folders(folder: Path) -> list[Path]:
    """Makes a folder with those that it lies in, and returns those that were missing, outermost first."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir()
    return missing[::-1]


def chunks(content: Content) -> Iterator[Any]:
    """The buffers of a file."""
    if isinstance(content, Path | Made):
        with open(content.path if isinstance(content, Made) else content, "rb") as source:
            yield from iter(lambda: source.read(_CHUNK), b"")
    elif isinstance(content, list):
        yield from content
    else:
        yield from iter(lambda: content.read(_CHUNK), b"")


def _fill(out: BinaryIO, content: Content) -> None:
    if not isinstance(content, list | Path | Made) and not _copy_inside(content.fileno(), out.fileno()):
        content.seek(0)
        os.ftruncate(out.fileno(), 0)
        os.lseek(out.fileno(), 0, os.SEEK_SET)
    elif not isinstance(content, list | Path | Made):
        return
    for part in chunks(content):
        out.write(part)


def _copy_inside(source: int, target: int) -> bool:
    """Copies a file by a system call, which may share blocks between the two. True on success."""
    if not hasattr(os, "copy_file_range"):
        return False
    left = os.fstat(source).st_size
    try:
        while left > 0:
            copied = os.copy_file_range(source, target, left)
            if not copied:
                return False
            left -= copied
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
            raise
        return False  # not between these two file systems
    return True
