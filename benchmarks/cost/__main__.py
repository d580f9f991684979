"""The command line of `benchmarks.cost`."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from ..json_file import read_json
from .page import page
from .table import BAR, share, stages_of, summary

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "build" / "cost" / "table.json"


def main() -> None:
    """Measures, then prints a line for each wrong choice, a line for each strategy and the share of right choices; exit code 1 below
    the bar."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cost", description=__doc__)
    parser.add_argument(
        "files", nargs="*", type=Path, help="modules and ONNX models with inputs in an .npz beside them"
    )
    parser.add_argument("--table", type=Path, default=TABLE, help="where measurements are kept")
    parser.add_argument("--offers", type=int, default=8, help="candidates of a stage at most")
    parser.add_argument("--each", type=float, default=0.03, help="seconds that each of them runs")
    parser.add_argument("--limit", type=float, default=600, help="seconds that a network may take")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--again", action="store_true", help="measure wrong choices once more")
    parser.add_argument("--write", action="store_true", help="write docs/cost.md from the table")
    options = parser.parse_args()
    options.table.parent.mkdir(parents=True, exist_ok=True)
    for file in options.files:
        arguments = (
            file,
            options.table,
            options.offers,
            options.each,
            options.precision,
            *(["again"] if options.again else []),
        )
        output = _run([sys.executable, "-m", "benchmarks.cost.worker", *map(str, arguments)], options.limit)
        print(f"{file.stem}: {output or 'measured'}", flush=True)
    stages = stages_of(read_json(options.table))
    if options.write:
        (ROOT / "docs" / "cost.md").write_text(page(read_json(options.table)), encoding="utf-8")
    print("\n".join(summary(stages)))
    sys.exit(share(stages) < BAR)


def _run(command: list[str], limit: float) -> str:
    """The last line on standard error of a command that fails; nothing otherwise."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    try:
        done = subprocess.run(
            command, cwd=ROOT, stderr=subprocess.PIPE, text=True, timeout=limit, check=False, env=environment
        )
    except subprocess.TimeoutExpired:
        return f"not finished after {limit:.0f} s"
    lines = done.stderr.strip().splitlines()
    return "" if done.returncode == 0 else (lines[-1][:300] if lines else f"exit code {done.returncode}")


if __name__ == "__main__":
    main()
