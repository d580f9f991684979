"""Temporary folders of processes that were killed before they could remove them."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from pathlib import Path

from ..files import TEMPORARY

_REPRODUCER = "reproducer.relay"


def is_abandoned(modified: float) -> bool:
    """True for a folder last modified so long ago, in seconds since 1970, that its process is gone: no command works for a day."""
    return modified < time.time() - 24 * 3600


def remove_abandoned_folders() -> int:
    """Removes the user's abandoned folders and returns their number. Folders with a reproducer stay: it is for the user to send."""
    removed = 0
    for folder in sorted(Path(tempfile.gettempdir()).glob(f"{TEMPORARY}*")):
        with contextlib.suppress(OSError):
            about = folder.lstat()
            own = not hasattr(os, "getuid") or about.st_uid == os.getuid()
            if not own or folder.is_symlink() or not folder.is_dir() or not is_abandoned(about.st_mtime):
                continue
            if not (folder / _REPRODUCER).exists():
                shutil.rmtree(folder)
                removed += 1
    return removed
