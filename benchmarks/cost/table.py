"""Right and wrong choices of a table of measurements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

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
    network: str = ""

    @property
    def ratio(self) -> float:
        return self.seconds / self.least

    @property
    def strategy(self) -> str:
        return self.chosen.partition(":")[0]


def stages_of(table: dict[str, Any]) -> list[Stage]:
    """The stages of a table that have at least two measured candidates, of every machine in it."""
    stages = []
    for machine in table.get("machines", {}).values():
        for entry in machine["stages"].values():
            trials = entry["trials"]
            if len(trials) > 1:
                best = min(trials, key=lambda label: (trials[label], label))
                times = entry["untuned_microseconds"] * 1e-6, trials[best] * 1e-6
                stages.append(Stage(entry["kernel"], entry["untuned"], best, *times, entry.get("network", "")))
    return stages


def share(stages: Iterable[Stage]) -> float:
    """The part of stages whose choice is right; 1 if there are none."""
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
