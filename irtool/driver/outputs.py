"""The files of a build: each is written whole or not at all, and none before all of them are known."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..diagnostics import IrError


def write_files(folder: Path, files: Mapping[str, Iterable[Any] | Path], executable: Iterable[str] = ()) -> list[Path]:
    """Writes files, by name, into a folder that is made if it is missing.

    A file is given as buffers, or as the path of a file to copy. All are written beside their places first, then renamed,
    so that a full disk leaves what was there before. Raises IrError.
    """
    runs = set(executable)
    finished: list[tuple[str, Path]] = []
    target = folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            target = folder / name
            handle, unfinished = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
            finished.append((unfinished, target))
            with os.fdopen(handle, "wb") as out:
                _fill(out, content)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(unfinished, (0o777 if name in runs else 0o666) & ~mask)
        for unfinished, target in finished:
            os.replace(unfinished, target)
    except OSError as error:
        raise IrError(f"cannot write {target}: {error.strerror or error}") from None
    finally:
        for unfinished, _ in finished:
            if os.path.exists(unfinished):
                os.unlink(unfinished)
    return [target for _, target in finished]


def _fill(out: Any, content: Iterable[Any] | Path) -> None:
    import shutil

    if isinstance(content, Path):
        with open(content, "rb") as source:
            shutil.copyfileobj(source, out, 1 << 20)
        return
    for part in content:
        out.write(part)
