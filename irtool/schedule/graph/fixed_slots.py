"""The tensors of a program whose type and shape a stage may not change."""

from __future__ import annotations

from ...tir.program import CONSTANT, TEMP, Program, RunKernel, Slot, steps

_OWN = (TEMP, CONSTANT)
"""Kinds of slots that belong to the program."""


def fixed_slots(program: Program) -> set[Slot]:
    """The slots in signatures of functions, those that steps other than kernels access, and those that do not belong to the
    program."""
    fixed: set[Slot] = set()
    for f in program.functions.values():
        fixed.update(slot.resolve() for slot in f.outer)
        for s in steps(f.body):
            touched = (slot.resolve() for slot in (*s.reads, *s.writes))
            fixed.update(slot for slot in touched if slot.kind not in _OWN or not isinstance(s, RunKernel))
    return fixed
