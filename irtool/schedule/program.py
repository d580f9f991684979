"""Schedules every kernel of a program."""

from __future__ import annotations

from collections.abc import Callable

from ..tir.kernel import Kernel
from ..tir.program import Program, RunKernel, steps

from .joining import join_kernels
from .kernel import schedule_kernel
from .layouts import assign_layouts
from .machine import Machine
from .phases import join_phases

def schedule_program(program: Program, machine: Machine) -> None:
    """Chooses layouts and joins kernels, then gives every kernel its schedule. Memory is planned after this."""
    _replace_kernels(program, join_phases)
    if machine.vector_bytes:
        assign_layouts(program, machine)
        join_kernels(program, machine)
    _replace_kernels(program, lambda k: schedule_kernel(k, machine))

def _replace_kernels(program: Program, change: Callable[[Kernel], Kernel]) -> None:
    made = {id(k): change(k) for k in program.kernels}
    program.kernels = [made[id(k)] for k in program.kernels]
    for f in program.functions.values():
        for s in steps(f.body):
            if isinstance(s, RunKernel):
                s.kernel = made[id(s.kernel)]
