"""The strategy of each kernel of many small networks, and its estimated cycles, by machine: `python -m tests.schedule.choices` writes
them to `choices.txt`.

The estimate of a kernel is the sum of those of its stages: the cost per update or element that the chosen strategy offered, times their
number. A kernel has none if a stage has none: scalar sums and plain loops are what remains if nothing else is offered.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import irtool
from irtool.driver.prepare import prepare
from irtool.lower import lower_module
from irtool.schedule import VectorTarget, schedule_program
from irtool.schedule.scripts.tuned import noting
from irtool.schedule.strategies.base import Stage, choose_strategy
from irtool.tir.kernel import Kernel
from tests.schedule.larger_networks import module_text, networks

FILE = Path(__file__).parent / "choices.txt"
MACHINES = {
    "no vectors": VectorTarget(0),
    "16 vectors of 16 bytes": VectorTarget(16, 16),
    "16 of 32 bytes": VectorTarget(32, 16),
    "32 of 64 bytes": VectorTarget(64, 32),
}


def table() -> str:
    """The rows as columns of equal widths."""
    rows = [["network", *MACHINES], *(row for key in networks() for row in kernel_rows(key))]
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    lines = (" | ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip(" |") for row in rows)
    return "".join(f"{line}\n" for line in lines)


def kernel_rows(key: str) -> Iterator[list[str]]:
    """A row for each kernel of a network: its name, and a cell for each machine."""
    module = prepare(irtool.parse(module_text(key)))
    columns = [list(choices(module, machine)) for machine in MACHINES.values()]
    most = max(map(len, columns))
    for n in range(most):
        name = key if most == 1 else f"{key} ({n + 1})"
        yield [name, *(column[n] if n < len(column) else "" for column in columns)]


def choices(module: irtool.Module, machine: VectorTarget) -> Iterator[str]:
    """The strategy of each kernel's main stage, and the kernel's cycles."""
    program = lower_module(module)
    with noting() as stages:
        schedule_program(program, machine)
    asked = {(stage.kernel, stage.number): stage for stage in stages}
    for kernel in program.kernels:
        estimate = cycles(kernel, asked)
        yield f"{kernel.choice.strategy} {in_short(estimate)}" if math.isfinite(estimate) else kernel.choice.strategy


def cycles(kernel: Kernel, asked: dict[tuple[str, int], Stage]) -> float:
    """The estimates of all stages, by the last question that was asked about each."""
    offers = (
        (stage, choose_strategy(stage)[1]) for s in kernel.choice.stages if (stage := asked[kernel.name, s.number])
    )
    return sum(offer.cost * stage.work for stage, offer in offers)


def in_short(number: float) -> str:
    """Two digits and a unit: `340`, `1.2k`, `54M`."""
    for unit, size in (("", 1), ("k", 1e3), ("M", 1e6), ("G", 1e9)):
        if number < 995 * size or unit == "G":
            scaled = number / size
            return f"{scaled:.1f}{unit}" if unit and scaled < 9.95 else f"{float(f'{scaled:.2g}'):.0f}{unit}"
    raise AssertionError("numbers end somewhere")


if __name__ == "__main__":
    FILE.write_text(table(), encoding="utf-8")
