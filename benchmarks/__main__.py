"""`python -m benchmarks [text|passes|kernels|networks …]`: every table, or those that are named."""

from __future__ import annotations

import importlib
import platform
import subprocess
import sys
from datetime import date
from pathlib import Path


def main() -> None:
    """Runs the benchmark modules: those of this folder that define `run`."""
    here = Path(__file__).parent
    known = sorted(p.stem for p in here.glob("*.py") if "\ndef run(" in p.read_text(encoding="utf-8"))
    chosen = sys.argv[1:] or known
    for name in chosen:
        if name not in known:
            sys.exit(f"unknown benchmark {name}; there are {', '.join(known)}")
    print(f"{_processor()}, {_compiler()}, Python {platform.python_version()}, {date.today().isoformat()}")
    for name in chosen:
        importlib.import_module(f"benchmarks.{name}").run()


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _compiler() -> str:
    """What the C compiler says that it is, in the first line."""
    try:
        said = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "no C compiler"
    return said.splitlines()[0]


if __name__ == "__main__":
    main()
