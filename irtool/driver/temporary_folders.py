"""Temporary folders of processes that were killed before they could remove them."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from pathlib import Path

from ..files import TEMPORARY

_ABANDONED = 24 * 3600
"""Age in seconds at which a folder counts as abandoned: no command works in one for so long."""
_REPRODUCER = "reproducer.relay"


def remove_abandoned_folders() -> int:
    """Removes the user's abandoned folders and returns their number. Folders with a reproducer stay: it is for the user to send."""
    removed = 0
    for folder in sorted(Path(tempfile.gettempdir()).glob(f"{TEMPORARY}*")):
        with contextlib.suppress(OSError):
            about = folder.lstat()
            own = not hasattr(os, "getuid") or about.st_uid == os.getuid()
            if not own or folder.is_symlink() or not folder.is_dir() or about.st_mtime > time.time() - _ABANDONED:
                continue
            if not (folder / _REPRODUCER).exists():
                shutil.rmtree(folder)
                removed += 1
    return removed
