"""Schedules printed as scripts, and programs scheduled by them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

import irtool
from irtool.commands.explaining import explain
from irtool.lower import lower_module
from irtool.schedule import VectorTarget, schedule_program
from irtool.schedule.scripts.script import scripted
from irtool.tir.kernel import Kernel
from irtool.tir.program import Program


def explained(kernels: Iterable[Kernel]) -> str:
    return explain(
        {
            "weight_bytes": 0,
            "plain_weight_bytes": 0,
            "kernels": [
                {"name": k.name, "stages": [asdict(s) for s in k.choice.stages], "strategy": k.choice.strategy}
                for k in kernels
            ],
        }
    )


def replayed(module: irtool.IRModule, machine: VectorTarget) -> Program:
    """The program scheduled by what is explained of it, which is the same; no step stands in a comment."""
    first = lower_module(module)
    schedule_program(first, machine)
    text = explained(first.kernels)
    assert not [line for line in text.splitlines() if line.startswith("#  ")]
    second = lower_module(module)
    with scripted(text):
        schedule_program(second, machine)
    assert [repr(k.body) for k in second.kernels] == [repr(k.body) for k in first.kernels]
    assert calls(explained(second.kernels)) == calls(text), "and so is what is explained of it then"
    return second


def calls(text: str) -> list[str]:
    """The lines of a script without comments."""
    lines = (line.partition("#")[0].rstrip() for line in text.splitlines())
    return [line for line in lines if line]
