"""The quality of choices by cost: every candidate of every kernel measured, as `irtool tune` does, beside the one that was chosen.

`python -m benchmarks.cost FILE…` takes modules and ONNX models. Equal stages of several networks are measured once. What is measured
is kept in a table, and an interrupted run goes on; the summary covers all that the table holds for this machine.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parents[1] / "build" / "cost" / "table.json"
NEAR = 1.05
"""The chosen candidate counts as right if it takes at most so many times the time of the fastest one."""
BAR = 0.95
"""The least share of stages for which the choice is right."""


@dataclass(frozen=True)
class Stage:
    """A stage that was measured: seconds of the candidate that costs chose, and of the fastest one."""

    kernel: str
    chosen: str
    best: str
    seconds: float
    least: float

    @property
    def ratio(self) -> float:
        return self.seconds / self.least

    @property
    def strategy(self) -> str:
        return self.chosen.partition(":")[0]


def main() -> None:
    """Measures, then prints a line for each wrong choice, a line for each strategy and the share of right choices; exit code 1 below
    the bar."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cost", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="modules, with weights beside them, and ONNX models")
    parser.add_argument("--table", type=Path, default=TABLE, help="where measurements are kept")
    parser.add_argument("--each", default="0.02", help="seconds that a kernel runs in one measurement")
    parser.add_argument("--options", default="", help="further options of irtool tune, such as --precision=int8")
    options = parser.parse_args()
    options.table.parent.mkdir(parents=True, exist_ok=True)
    for file in options.files:
        command = [sys.executable, "-P", "-m", "irtool", "tune", str(file), "-o", str(options.table), "-q"]
        command += ["--each", options.each, "--trials", "1000000", *options.options.split()]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        print(f"{file.stem}: {'measured' if done.returncode == 0 else done.stderr.strip()}", flush=True)
    stages = stages_of(json.loads(options.table.read_text(encoding="utf-8")))
    print("\n".join(summary(stages)))
    sys.exit(share(stages) < BAR)


def stages_of(table: dict[str, Any]) -> list[Stage]:
    """The stages of a table that have at least two measured candidates, of every machine in it."""
    stages = []
    for machine in table["machines"].values():
        for entry in machine["stages"].values():
            trials = entry["trials"]
            if len(trials) > 1:
                best = min(trials, key=lambda label: (trials[label], label))
                times = entry["untuned_microseconds"] * 1e-6, trials[best] * 1e-6
                stages.append(Stage(entry["kernel"], entry["untuned"], best, *times))
    return stages


def share(stages: Iterable[Stage]) -> float:
    """The part of stages whose choice is right; 1 where there are none."""
    ratios = [s.ratio for s in stages]
    return sum(r <= NEAR for r in ratios) / len(ratios) if ratios else 1.0


def summary(stages: list[Stage]) -> list[str]:
    """Lines of wrong choices, worst first, of strategies, and of all."""
    wrong = sorted((s for s in stages if s.ratio > NEAR), key=lambda s: -s.ratio)
    lines = [f"{s.ratio:6.2f}  {s.seconds * 1e6:10.1f} us  {s.kernel}: {s.chosen}; faster: {s.best}" for s in wrong]
    for strategy in sorted({s.strategy for s in stages}):
        of = [s for s in stages if s.strategy == strategy]
        lines.append(
            f"{strategy}: {sum(s.ratio <= NEAR for s in of)} of {len(of)} within {NEAR - 1:.0%} of the fastest"
        )
    total, least = sum(s.seconds for s in stages), sum(s.least for s in stages)
    lines.append(
        f"{share(stages):.1%} of {len(stages)} stages within {NEAR - 1:.0%} of the fastest candidate; all choices together take "
        f"{total / least if least else 1:.3f} times the time of the fastest ones"
    )
    return lines


if __name__ == "__main__":
    main()
