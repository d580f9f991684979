"""Writing what a command makes: atomically, and only once it is complete."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from ..diagnostics import IrError
from ..driver.outputs import is_stream


def write_text(path: str | None, text: str) -> None:
    """Writes to a file, or to standard output for None and `-`. A file appears whole or not at all."""
    if path is None or path == "-":
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise IrError(f"cannot write to standard output: {error.strerror or error}") from None
        return
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str, data: bytes) -> None:
    """Writes a file atomically: to a temporary name in the same folder, then renamed."""
    folder = os.path.dirname(os.path.abspath(path))
    try:
        if is_stream(Path(path)) and not os.path.isdir(path):
            with open(path, "wb") as stream:
                stream.write(data)
            return
        handle, temporary = tempfile.mkstemp(prefix=".irtool-", dir=folder)
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(data)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise IrError(f"cannot write {path}: {error.strerror or error}") from None
