"""Whether a convolution is better transformed: one question, with the same answer before and after layouts are chosen."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

import irtool
from irtool.driver.prepare import prepare
from irtool.lower import lower_module
from irtool.passes.core.bind import bind_params
from irtool.schedule import VectorTarget, schedule_program
from irtool.schedule.cost.winograd import better_transform
from irtool.schedule.strategies.winograd.convolution import Convolution
from irtool.schedule.strategies.winograd.find import convolutions_of
from irtool.tir.program import RunKernel, steps
from tests.schedule.convolutions import network
from tests.schedule.programs import values

SCHEDULE = Path(irtool.__file__).parent / "schedule"


def convolutions(module: irtool.Module) -> tuple[list[Convolution], list[str]]:
    """The 3 x 3 convolutions of a program before layouts are chosen, and the strategies of its kernels at the end."""
    bound = prepare(bind_params(module, {n: v for n, v in values(module).items() if n != "x"}))
    convolutions = [
        c
        for f in lower_module(bound).functions.values()
        for s in steps(f.body)
        if isinstance(s, RunKernel)
        for c in convolutions_of(s)
    ]
    program = lower_module(bound)
    schedule_program(program, TARGET)
    return convolutions, [k.choice.strategy for k in program.kernels]


TARGET = VectorTarget(32, 16)


@pytest.mark.parametrize("channels", [8, 64])
@pytest.mark.parametrize("image", [(6, 6), (28, 28)])
def test_the_answer_before_layouts_holds_afterwards(channels: int, image: tuple[int, int]) -> None:
    stages, strategies = convolutions(network(channels, channels, image))
    assert stages
    before = any(better_transform(c, TARGET, layouts=False) is not None for c in stages)
    assert before == ("winograd" in strategies)


def test_faster_instructions_are_harder_to_beat() -> None:
    stages, _ = convolutions(network(64, 64, (28, 28)))
    (c,) = [c for c in stages if c.windows == (3, 3)]
    alone = better_transform(c, TARGET, layouts=False)
    assert alone is not None and alone.saved > 0
    assert better_transform(c, TARGET, layouts=False, speedup=16) is None
    assert better_transform(c, replace(TARGET, winograd="off"), layouts=False) is None
    assert better_transform(c, replace(TARGET, winograd="4"), layouts=False, speedup=16) is not None, "it is demanded"


def test_nobody_else_compares_the_two() -> None:
    """The cycles of a transformed convolution and of a plain one are for `cost.winograd`, and for the reason that people read."""
    users = []
    for file in sorted(SCHEDULE.rglob("*.py")):
        names = {
            n.name
            for x in ast.walk(ast.parse(file.read_text("utf-8")))
            if isinstance(x, ast.ImportFrom)
            for n in x.names
        }
        if names & {"winograd_cycles", "direct_cycles"}:
            users.append(file.relative_to(SCHEDULE).as_posix())
    assert users == ["strategies/winograd/form.py"]
