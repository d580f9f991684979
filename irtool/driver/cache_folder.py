"""The folder of the cache, and small texts in it that are looked up by a key.

The cache is in `$XDG_CACHE_HOME/irtool`, by default in `~/.cache/irtool`: a folder of the user's own that nobody else may write to.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import time
from io import BufferedReader
from pathlib import Path

_TEXTS = "texts"
_MOST = 4096
"""Texts that are kept: those unused for the longest time go first."""
_LARGE = 1 << 20
"""Bytes from which on the digest of a file is kept: smaller files are hashed in a millisecond."""
_SETTLED = 2_000_000_000
"""Nanoseconds since the last change of a file whose digest is kept. A change soon after another one may leave the time as it is, as some
file systems count time in seconds."""


def cache_folder() -> Path:
    """The folder, which may not be there."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".cache")
    if not os.path.isabs(base):  # nobody knows where this user is at home
        base = os.devnull
    return Path(base) / "irtool"


def is_own_folder(folder: Path) -> bool:
    """True if the user owns a folder and nobody else may write to it."""
    try:
        about = os.lstat(folder)
    except OSError:
        return False
    own = not hasattr(os, "getuid") or about.st_uid == os.getuid()
    return stat.S_ISDIR(about.st_mode) and own and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


class CachedTexts:
    """Texts by key. Any number of processes may read and write at once; a damaged text counts as not being there, and with an unusable
    folder every method does nothing, silently."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = cache_folder() / _TEXTS if folder is None else folder

    def read(self, *key: object) -> str | None:
        """The text of that key, or None."""
        path = self.folder / _name(key)
        try:
            if not is_own_folder(self.folder):
                return None
            digest, _, text = path.read_text(encoding="utf-8").partition("\n")
            if digest != _digest(text):
                path.unlink()
                return None
            os.utime(path)
        except (OSError, UnicodeDecodeError):
            return None
        return text

    def write(self, text: str, *key: object) -> None:
        """Keeps a text under a key, in place of the one before."""
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not is_own_folder(self.folder):
                return
            handle, unfinished = tempfile.mkstemp(dir=self.folder)
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(f"{_digest(text)}\n{text}")
            os.rename(unfinished, self.folder / _name(key))
            self._shrink()

    def remove_unused(self, since: float) -> None:
        """Removes the texts that nobody has read since then, seconds since 1970."""
        for file in sorted(self.folder.iterdir()) if is_own_folder(self.folder) else ():
            with contextlib.suppress(OSError):  # another process removes it
                if file.stat().st_mtime <= since:
                    file.unlink()

    def _shrink(self) -> None:
        files = list(os.scandir(self.folder))
        if len(files) <= _MOST:
            return
        for file in sorted(files, key=lambda f: (f.stat().st_mtime, f.name))[: len(files) - _MOST]:
            os.unlink(file.path)


def file_digest(file: BufferedReader) -> str:
    """The SHA-256 of an open file from its beginning, in hexadecimal; the file is at its end, or its beginning, afterwards.

    The digest of a large file is kept beside the size, the times and the number that the file system gives: as build systems do, these are
    compared, not the contents, as long as they stay.
    """
    about = os.fstat(file.fileno())
    if about.st_size < _LARGE:
        return hashlib.file_digest(file, "sha256").hexdigest()
    texts, key = CachedTexts(), ("file", *_identity(about))
    cached = texts.read(*key)
    if cached is not None:
        return cached
    begin = time.time_ns()
    digest = hashlib.file_digest(file, "sha256").hexdigest()
    is_settled = begin - max(about.st_mtime_ns, about.st_ctime_ns) >= _SETTLED
    if is_settled and _identity(os.fstat(file.fileno())) == _identity(about):
        texts.write(digest, *key)
    return digest


def _identity(about: os.stat_result) -> tuple[int, ...]:
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


def _name(key: tuple[object, ...]) -> str:
    return _digest(repr(key))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
