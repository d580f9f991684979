"""A stage inside of a parallel loop has no parallel loop of its own, whichever strategy schedules it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import irtool
from irtool.driver.options import choose_options
from irtool.driver.prepare import prepare_entries
from irtool.driver.stages import run_up_to
from irtool.infer import infer_types
from irtool.schedule import VectorTarget
from irtool.schedule.core.staged import is_shared
from irtool.schedule.strategies.base import Stage, strategies
from irtool.tir.forms import AnyForm

GOLDENS = Path(__file__).parent.parent / "golden" / "schedule"
EAGER = {"parallel_updates": 1, "parallel_elements": 1, "blocked_updates": 1, "threads": 4}
"""Sizes for which threads share every loop that they may."""
TARGETS = {
    "AVX2": VectorTarget(32, 16).resized(EAGER),
    "AVX-512": VectorTarget(64, 32).resized({**EAGER, "byte_tiles": 16, "pair_tiles": 16}),
    "scalar": VectorTarget(0).resized({**EAGER, "scalar_results": 4}),
}


@cache
def forms(target: str) -> list[AnyForm]:
    """The stages of all kernels of the goldens, before strategies schedule them."""
    stages: list[AnyForm] = []
    options = choose_options("c", ({},))
    for path in sorted(GOLDENS.glob("*.relay")):
        module = infer_types(irtool.parse(path.read_text(encoding="utf-8")))
        program = run_up_to(prepare_entries(module, options), ["main"], TARGETS[target], "ScheduleKernels")
        stages += [form for k in program.kernels if not k.finished for form in k.stages]
    return stages


@pytest.mark.parametrize("target", TARGETS)
def test_no_strategy_shares_loops_of_a_serial_stage(target: str) -> None:
    shared, applied = set(), set()
    for form in forms(target):
        for cls in strategies:
            for serial in (True, False):
                stage = Stage(form, TARGETS[target], serial=serial)
                for candidate in cls().variants(stage):
                    if is_shared(cls().apply(stage, candidate)):
                        (shared if serial else applied).add(cls.name)
                    break
    assert not shared, f"strategies that share loops inside of a parallel loop: {sorted(shared)}"
    assert len(applied) >= (3 if target == "scalar" else 10), f"only {sorted(applied)} share loops elsewhere"
