"""Output files of a command, written atomically, and only once they are complete."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable

from ..diagnostics import IrError
from ..files import Draft, is_stream
from .mistakes import UnwritableFile


def write_text(path: str | None, text: str, follow: bool = True) -> None:
    """Writes to a file, or to standard output for None and `-`. A file appears whole or not at all; `follow` as in `write_parts`."""
    if path is None or path == "-":
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise IrError(f"cannot write to standard output: {error.strerror or error}", code=UnwritableFile) from None
        return
    write_bytes(path, text.encode("utf-8"), follow)


def write_bytes(path: str, data: bytes, follow: bool = True) -> None:
    """Writes a file; it appears whole or not at all. `follow` as in `write_parts`."""
    write_parts(path, (data,), follow)


def check_place(path: str) -> None:
    """Raises the IrError that writing a file would end with, before a long computation; nothing changes there."""
    try:
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        Draft(path).discard()
    except OSError as error:
        raise IrError(f"cannot write {path}: {error.strerror or error}", code=UnwritableFile) from None


def write_parts(path: str, parts: Iterable[bytes], follow: bool = True) -> None:
    """The same for contents in parts, one after the other. A symbolic link is followed where the user has named it; under a name that
    irtool chooses it is replaced."""
    try:
        if is_stream(path, follow):
            with open(path, "wb") as stream:
                stream.writelines(parts)
            return
        with Draft(path, follow) as draft:
            draft.out.writelines(parts)
    except OSError as error:
        raise IrError(f"cannot write {path}: {error.strerror or error}", code=UnwritableFile) from None
