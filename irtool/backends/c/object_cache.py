"""Object files of earlier builds, named by the content of everything that they were compiled from.

A build of the same network with other weights has the same kernels: only the file that knows the weights is compiled.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

_SUFFIX = ".o"
_MOST = 1 << 28
"""Bytes of all of them: those unused for the longest time are removed first."""


class ObjectCache:
    """Object files in a folder of the user's own. Each begins with its digest; a damaged one counts as not being there.

    Any number of processes may use the folder at once: files appear whole. Errors of the file system are no errors of a build.
    """

    def __init__(self, folder: Path, compiler: str) -> None:
        self._folder = folder
        self._compiler = compiler

    def key(self, command: Sequence[str], *contents: bytes) -> str:
        """The name of the object file that a command makes of sources and headers."""
        digest = hashlib.sha256()
        for data in (self._compiler.encode(), repr(list(command)).encode(), *contents):
            digest.update(len(data).to_bytes(8, "little") + data)
        return digest.hexdigest()

    def copy(self, key: str, target: Path) -> bool:
        """Writes the object file of that name to a path. False for a name that the folder has not."""
        file = self._folder / f"{key}{_SUFFIX}"
        try:
            digest, data = _split(file.read_bytes())
            if hashlib.sha256(data).digest() != digest:
                file.unlink()
                return False
            target.write_bytes(data)
            os.utime(file)
        except OSError:
            return False
        return True

    def store(self, key: str, source: Path) -> None:
        """Keeps an object file under a name."""
        with contextlib.suppress(OSError):
            data = source.read_bytes()
            handle, unfinished = tempfile.mkstemp(dir=self._folder)
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(data).digest() + data)
            os.rename(unfinished, self._folder / f"{key}{_SUFFIX}")

    def shrink(self) -> None:
        """Removes the object files unused for the longest time until the rest is small enough."""
        with contextlib.suppress(OSError):
            files = sorted(((f.stat(), f) for f in self._folder.iterdir()), key=lambda x: (x[0].st_mtime, x[1]))
            total = sum(about.st_size for about, _ in files)
            for about, file in files:
                if total <= _MOST:
                    break
                file.unlink()
                total -= about.st_size


def _split(content: bytes) -> tuple[bytes, bytes]:
    """The digest and the object file."""
    return content[:32], content[32:]
