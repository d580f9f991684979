"""The command line of the ablation."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from irtool.diagnostics import UsageError
from irtool.schedule import without

from ..compare.export import NETWORKS as COMPARED
from ..compare.precisions import PRECISIONS
from ..operators.table import BY_NAME as OPERATORS
from .build import switches
from .networks import NETWORKS
from .page import page
from .record import Record, read_records

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "build" / "ablation"
EXPORTS = ROOT / "build" / "compare"


def main() -> None:
    """Exports what is missing, measures what has no result yet, prints it as it comes; with --write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablation", description=__doc__)
    parser.add_argument("--only", default="", help="networks and operators, separated by commas")
    parser.add_argument(
        "--switch", default="", help="stages and strategies, separated by commas; all of them if not given"
    )
    parser.add_argument("--precision", default="float32", help=f"of {', '.join(PRECISIONS)}, separated by commas")
    parser.add_argument("--seconds", type=float, default=1.0, help="of runs with and without a switch")
    parser.add_argument(
        "--enough",
        type=int,
        default=0,
        help="leave out what has moved, or is needed by, so many networks already; 0: measure all",
    )
    parser.add_argument("--again", action="store_true", help="measure what has a result, too")
    parser.add_argument("--limit", type=int, default=3600, help="seconds that a network may take, its export included")
    parser.add_argument("--write", action="store_true", help="write docs/ablation.md from all results that are kept")
    options = parser.parse_args()
    if options.write and not (options.only or options.switch):
        (ROOT / "docs" / "ablation.md").write_text(page(read_records(RESULTS)), encoding="utf-8")
        return
    names = options.switch.split(",") if options.switch else switches()
    try:
        with without(*names):
            pass
    except UsageError as error:
        parser.error(str(error))
    known = [*COMPARED, *NETWORKS, *OPERATORS]
    chosen = options.only.split(",") if options.only else known
    for name in chosen:
        if name not in known:
            parser.error(f"unknown network or operator {name}; there are {', '.join(known)}")
    for precision in options.precision.split(","):
        if precision not in PRECISIONS:
            parser.error(f"unknown precision {precision}; there are {', '.join(PRECISIONS)}")
        if precision != "float32" and options.only and not OPERATORS.keys().isdisjoint(chosen):
            parser.error("single operators are measured in float32")
        for name in chosen:
            if options.only or precision == "float32" or name in (PRECISIONS[precision].networks or COMPARED):
                _measure(name, precision, names, options)
    if options.write:
        (ROOT / "docs" / "ablation.md").write_text(page(read_records(RESULTS)), encoding="utf-8")


def _measure(name: str, precision: str, names: list[str], options: argparse.Namespace) -> None:
    """Has a process measure what is missing of a network; what is wrong with the network is its result."""
    record = Record(RESULTS, name, precision)
    done = _enough(options.enough, name in OPERATORS) if options.enough else set()
    missing = [s for s in names if options.again or (s not in record.switches and s not in done)]
    if not missing or ("error" in record.facts and not options.again):
        return
    print(f"{name}, {precision}: {len(missing)} switches", flush=True)
    model = EXPORTS / f"{name}.onnx"
    if not model.exists() and name not in OPERATORS:
        module = "compare" if name in COMPARED else "ablation"
        error = _run([f"benchmarks.{module}.export", name, str(EXPORTS)], options.limit)
        if not model.exists():
            record.facts = {"error": f"export: {error}"}
            return record.save()
    error = _run(
        [
            "benchmarks.ablation.worker",
            str(model),
            name,
            precision,
            str(RESULTS),
            str(options.seconds),
            ",".join(missing),
        ],
        options.limit,
    )
    if error and not (record := Record(RESULTS, name, precision)).switches:
        record.facts = {**record.facts, "error": error}
        record.save()
        print(f"  {error}", flush=True)


def _enough(count: int, operators: bool) -> set[str]:
    """The switches that move so many networks, or single operators, or that these need."""
    records = [r for r in read_records(RESULTS) if r.is_operator == operators]
    return {s for s in switches() if sum(r.moved(s) or r.needs(s) for r in records) >= count}


def _run(command: list[str], limit: int) -> str:
    """The last line that a module says on standard error if it fails, and nothing otherwise; what it prints is shown."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    try:
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
            timeout=limit,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        return f"more than {limit} s"
    lines = done.stderr.strip().splitlines()
    return "" if done.returncode == 0 else (lines[-1][:300] if lines else f"exit code {done.returncode}")


if __name__ == "__main__":
    main()
