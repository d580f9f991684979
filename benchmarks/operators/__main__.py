"""The command line of `benchmarks.operators`."""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys

from . import __doc__ as _description
from .measure import measure
from .table import OPERATORS

_THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def main() -> None:
    """Measures and prints the chosen operators, then the geometric mean of the ratios to torch."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.operators", description=_description)
    parser.add_argument("names", nargs="*", help="parts of names of operators")
    options = parser.parse_args()
    if not _THREADS.items() <= os.environ.items():  # numpy's library reads it when it is loaded
        command = [sys.executable, "-m", "benchmarks.operators", *options.names]
        sys.exit(subprocess.run(command, env={**os.environ, **_THREADS}, check=False).returncode)
    print(f"{'milliseconds':28} {'C':>9} {'torch':>9} {'interpreter':>11} {'/torch':>7} {'/interpreter':>12}")
    rows = []
    for single in OPERATORS:
        if not options.names or any(part in single.name for part in options.names):
            rows.append(measure(single))
            print(rows[-1], flush=True)
    ratios = [math.log(r.compiled / r.torch) for r in rows if not math.isnan(r.torch)]
    if ratios:
        print(f"geometric mean of {len(ratios)} ratios to torch: {math.exp(sum(ratios) / len(ratios)):.2f}")
    sys.exit(any(r.is_slow or r.is_wrong for r in rows))


if __name__ == "__main__":
    main()
