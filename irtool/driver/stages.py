"""From a prepared module to a program with planned memory: the stages between Relay and the backend."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from ..ir import Module
from ..lower import lower_module
from ..lower.ram_limit import plan_limited_memory
from ..lower.step_order import order_steps
from ..passes.core.context import PassContext
from ..schedule import SCHEDULE, ProgramStage, VectorTarget
from ..schedule.constants.dedup_constants import dedup_constants
from ..steps import counted
from ..symbolic_int import Undecided
from ..tir.program import OpenQuestion, Program
from ..tir.program_copy import copy_program
from ..tir.symbols import symbols_of_program
from .refusals import refuse_oversized

LOWER = ProgramStage(
    "Lower",
    "lowers each fused group to a loop nest, and each function to a list of steps on memory slots",
    lambda program, machine: None,
    once=True,
)
"""The first stage creates the program, so there is nothing to show before it."""

STAGES: tuple[ProgramStage, ...] = (
    LOWER,
    *SCHEDULE,
    ProgramStage(
        "OrderSteps",
        "moves steps of a function so that the least memory is alive at one time; runs after kernels are final",
        lambda program, machine: order_steps(program),
    ),
    ProgramStage(
        "PlanMemory",
        "assigns an offset to each temporary and to each kernel's scratch memory; runs after their sizes are final",
        lambda program, machine: plan_limited_memory(
            program, machine.threads, machine.pools, machine.has_little_memory
        ),
    ),
)


def run_stages(
    prepared: Module,
    entries: Sequence[str],
    machine: VectorTarget,
    instruments: Sequence[Any] | None = None,
    lesser: Sequence[VectorTarget] = (),
) -> Program:
    """The scheduled program of some entries.

    `instruments` see every stage (`run_before_stage`, `run_after_stage`); if there are none, those of the current context.
    For each of `lesser`, processors with less for which the library has code as well, the program has another one: what stages
    with `once` chose for `machine` holds for all, layouts of weights among it; instruments see nothing of these.
    """
    watching = PassContext.current().instruments if instruments is None else instruments
    program = _lowered(prepared, entries, machine)
    for instrument in watching:
        instrument.run_after_stage(program, LOWER.name)
    run_rest(program, machine, STAGES[1:], watching, lesser)
    return program


def run_up_to(prepared: Module, entries: Sequence[str], machine: VectorTarget, name: str) -> Program:
    """The program as that stage finds it. Nothing watches."""
    program = _lowered(prepared, entries, machine)
    run_rest(program, machine, STAGES[1 : -len(stages_from(name))])
    return program


def stages_from(name: str) -> tuple[ProgramStage, ...]:
    """The stage of that name and the stages after it."""
    return STAGES[[s.name for s in STAGES].index(name) :]


def run_rest(
    program: Program,
    machine: VectorTarget,
    stages: Sequence[ProgramStage],
    watching: Sequence[Any] = (),
    lesser: Sequence[VectorTarget] = (),
) -> None:
    """Runs some of the stages, in order, as far as they apply; see `run_stages`."""
    for stage in counted("stage", stages, lambda s: s.name):
        assert not (stage.once and program.lesser), f"{stage.name} would choose anew for every processor"
        if not stage.once and not program.lesser:
            program.lesser = [copy_program(program) for _ in lesser]
        for other, less in zip(program.lesser, lesser):
            if stage.applies(less):
                _run(stage, other, less)
        if not stage.applies(machine):
            continue
        for instrument in watching:
            instrument.run_before_stage(program, stage.name)
        _run(stage, program, machine)
        if stage.name == _VERIFIED and os.environ.get("IRTOOL_VERIFY"):
            from ..tir.verify import verify

            for kernel in program.kernels:
                verify(kernel)
        for instrument in watching:
            instrument.run_after_stage(program, stage.name)
    if program.lesser:
        _join_constants(program)


def _run(stage: ProgramStage, program: Program, machine: VectorTarget) -> None:
    """Runs a stage. With lengths that only the run knows, the program stays as it is if the stage would need to know one: it works without
    each stage of the schedule, though not as fast. The program notes which question was open."""
    if stage not in SCHEDULE or not symbols_of_program(program):
        stage.run(program, machine)
        return
    before = copy_program(program)
    known = len(program.questions)
    try:
        stage.run(program, machine)
        program.questions[known:] = [replace(q, stage=q.stage or stage.name) for q in program.questions[known:]]
    except Undecided as doubt:
        for f in fields(Program):
            setattr(program, f.name, getattr(before, f.name))
        program.questions = [*program.questions[:known], OpenQuestion(stage.name, "", str(doubt))]


def _lowered(prepared: Module, entries: Sequence[str], machine: VectorTarget) -> Program:
    program = lower_module(prepared, list(entries), machine)
    refuse_oversized(program, prepared)
    return program


def _join_constants(program: Program) -> None:
    """Gathers the constants of all processors in the program: equal ones of several processors are stored once."""
    program.constants = list(dict.fromkeys(c for p in (program, *program.lesser) for c in p.constants))
    dedup_constants(program)
    program.constants = [c for c in program.constants if c.forward is None]


_VERIFIED = "ShareLoops"
