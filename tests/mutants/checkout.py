"""A copy of this checkout to break: the files that git knows, without what stands beside the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def copy_checkout(to: Path) -> None:
    """Copies the files of this checkout as they stand, those too that are new and not yet committed."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)


def environment(checkout: Path) -> Mapping[str, str]:
    """Variables under which Python runs the copy: its own modules, its own caches, no random choices."""
    own = checkout / ".own"
    return os.environ | {
        "PYTHONPATH": str(checkout),
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_CACHE_HOME": str(own / "cache"),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(own / "hypothesis"),
        "CI": "true",
        "CFLAGS": "-O0",
    }


def pytest_command(*arguments: object) -> list[str]:
    """The command that runs pytest as far as it is needed here."""
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, arguments)]


def folder_of(store: Path, file: str) -> Path:
    """Where the lines that the tests of a file run are kept."""
    return store / file.replace("/", "+")
