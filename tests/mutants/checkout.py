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
    """Copies the files of this checkout as they stand, those too that are new and not yet committed, and compiles them.

    What is compiled is compared with its source by contents: a changed file counts at once.
    """
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)
    compiling = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", "irtool", "tests"]
    subprocess.run(compiling, cwd=to, env=os.environ | _pycache(to), check=True)


def environment(checkout: Path) -> Mapping[str, str]:
    """Variables under which Python runs the copy: its own modules, its own caches, no random choices.

    Plug-ins that are installed are not loaded: pytest would put its own checks into the whole package of each, irtool too,
    in place of what the copy is to run.
    """
    own = checkout / ".own"
    return {
        **os.environ,
        **_pycache(checkout),
        "PYTHONPATH": str(checkout),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "XDG_CACHE_HOME": str(own / "cache"),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(own / "hypothesis"),
        "CI": "true",
        "CFLAGS": "-O0",
    }


def environment_with_probes(checkout: Path) -> Mapping[str, str]:
    """The same; what processes run of irtool is noted."""
    own = checkout / ".own"
    for folder in ("site", "probed", "hits"):
        (own / folder).mkdir(parents=True, exist_ok=True)
    start = f"from tests.mutants.probes import install\ninstall({str(checkout)!r}, {str(own / 'probed')!r})\n"
    (own / "site" / "sitecustomize.py").write_text(start)
    path = os.pathsep.join([str(own / "site"), str(checkout)])
    return {**environment(checkout), "PYTHONPATH": path, "IRTOOL_PROBES": str(own / "hits")}


def _pycache(checkout: Path) -> Mapping[str, str]:
    return {"PYTHONPYCACHEPREFIX": str(checkout / ".own" / "pycache")}


def pytest_command(*arguments: object) -> list[str]:
    """The command that runs pytest as far as it is needed here."""
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir=.", *map(str, arguments)]


def file_of(store: Path, file: str) -> Path:
    """Where what the tests of a file run is kept."""
    return store / f"{file.replace('/', '+')}.json"
