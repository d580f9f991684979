"""The command line of `benchmarks.operators`."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from irtool.backends.toolchain.compiler import Compiler

from .. import __main__ as benchmarks
from . import __doc__ as _description
from .measure import Row, measure
from .page import geometric_mean, page
from .table import OPERATORS

ROOT = Path(__file__).parents[2]
_THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def main() -> None:
    """Measures and prints the chosen operators, then the geometric mean of the ratios to torch."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.operators", description=_description)
    parser.add_argument("names", nargs="*", help="parts of names of operators")
    parser.add_argument("--write", action="store_true", help="write docs/compare_operators.md")
    options = parser.parse_args()
    if options.write and options.names:
        parser.error("--write takes all operators")
    if not _THREADS.items() <= os.environ.items():  # numpy's library reads it when it is loaded
        command = [sys.executable, "-m", "benchmarks.operators", *sys.argv[1:]]
        sys.exit(subprocess.run(command, env={**os.environ, **_THREADS}, check=False).returncode)
    print(f"{'milliseconds':32} {'C':>9} {'torch':>9} {'interpreter':>11} {'/torch':>7} {'/interpreter':>12}")
    rows: list[Row] = []
    for single in OPERATORS:
        if not options.names or any(part in single.name for part in options.names):
            rows.append(measure(single))
            print(rows[-1], flush=True)
            if rows[-1].is_wrong:
                sys.exit(1)
    ratios = [r.ratio for r in rows if r.is_compared]
    if ratios:
        losses = sum(ratio > 1 for ratio in ratios)
        print(f"geometric mean of {len(ratios)} ratios to torch: {geometric_mean(ratios):.2f}; {losses} above 1")
    if options.write:
        setting = benchmarks.setting(("torch",), Compiler().machine().vector_bytes)
        (ROOT / "docs" / "compare_operators.md").write_text(page(rows, setting), encoding="utf-8")
    sys.exit(any(r.is_slow for r in rows))


if __name__ == "__main__":
    main()
