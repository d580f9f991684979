"""`python -m benchmarks [text|passes|kernels|inference …] [--option …]`: every table, or those that are named.

`growth` takes half an hour and runs only where it is named.
"""

from __future__ import annotations

import importlib
import platform
import subprocess
import sys
from collections.abc import Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path

BY_NAME = ("growth",)
"""What takes too long to run unasked."""


def main() -> None:
    """Runs the benchmark modules: those of this folder that define `run`."""
    here = Path(__file__).parent
    known = sorted(p.stem for p in here.glob("*.py") if "\ndef run(" in p.read_text(encoding="utf-8"))
    usual = [name for name in known if name not in BY_NAME]
    arguments = sys.argv[1:]
    first = next((n for n, a in enumerate(arguments) if a.startswith("-")), len(arguments))
    options, chosen = arguments[first:], arguments[:first] or usual
    if options and len(chosen) != 1:
        sys.exit("options go to one benchmark: name it before them")
    for name in chosen:
        if name not in known:
            sys.exit(f"unknown benchmark {name}; there are {', '.join(known)}")
    print(f"{processor()}, {_compiler()}, Python {platform.python_version()}, {date.today().isoformat()}")
    for name in chosen:
        importlib.import_module(f"benchmarks.{name}").run(*([options] if options else []))


def processor() -> str:
    """The name of this machine's processor."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def setting(packages: Sequence[str], vector_bytes: int) -> str:
    """The machine, the compiler, and the versions of Python and of packages that measurements are of, with the date."""
    versions = [f"Python {platform.python_version()}", *(f"{n} {version(n)}" for n in packages)]
    return f"{processor()} (vectors of {8 * vector_bytes} bits), {_compiler()}, {', '.join(versions)}, {date.today().isoformat()}"


def _compiler() -> str:
    """What the C compiler says that it is, in the first line."""
    try:
        version = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "no C compiler"
    return version.splitlines()[0]


if __name__ == "__main__":
    main()
