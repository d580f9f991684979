"""Schedules every kernel of a program."""

from __future__ import annotations

from ..tir.program import Program, RunKernel, steps
from .kernel import schedule_kernel
from .layouts import assign_layouts
from .machine import Machine


def schedule_program(program: Program, machine: Machine) -> None:
    """Chooses layouts, then gives every kernel its schedule. Memory is planned after this."""
    if machine.vector_bytes:
        assign_layouts(program, machine)
    made = {id(k): schedule_kernel(k, machine) for k in program.kernels}
    program.kernels = [made[id(k)] for k in program.kernels]
    for f in program.functions.values():
        for s in steps(f.body):
            if isinstance(s, RunKernel):
                s.kernel = made[id(s.kernel)]
