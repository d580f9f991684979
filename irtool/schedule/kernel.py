"""Schedules a whole kernel: each of its stages by its form."""

from __future__ import annotations

from ..tir.stmt import Allocate, PrimFunc, Seq, Stmt, seq
from . import contract, elementwise, rows
from .machine import Machine
from .nests import Map, Reduction, recognise


def schedule_kernel(kernel: PrimFunc, machine: Machine) -> PrimFunc:
    """The kernel with its stages tiled and vectorized; `attrs` say which strategy the main one got, and why."""
    notes: list[tuple[int, str, str]] = []
    body = _scheduled(kernel.body, machine, notes)
    notes.sort(key=lambda n: -n[0])
    strategy, reason = (notes[0][1], notes[0][2]) if notes else ("loops", "no stage has a form that is scheduled")
    return kernel.with_body(body, strategy=strategy, reason=reason)


def _scheduled(root: Stmt, machine: Machine, notes: list[tuple[int, str, str]]) -> Stmt:
    outer: list[Allocate] = []
    s = root
    while isinstance(s, Allocate) and s.buffer.scope == "arena":
        outer.append(s)
        s = s.body
    stages = s.stmts if isinstance(s, Seq) and recognise(s) is None else (s,)
    made: Stmt = seq([_stage(x, machine, notes) for x in stages])
    for a in reversed(outer):
        made = Allocate(a.buffer, made)
    return made


def _stage(s: Stmt, machine: Machine, notes: list[tuple[int, str, str]]) -> Stmt:
    form = recognise(s)
    if isinstance(form, Reduction):
        flat = contract.flatten_loops(contract.split_loops(form))
        row = rows.applies(flat, machine)
        plan = contract.plan(flat, machine)
        if row is not None and (plan is None or plan.lanes * plan.tile.rows * plan.tile.vectors < 4 * machine.lanes(4)):
            notes.append((form.work, "row_reduction", f"vectors along the summed axis {flat.inner[row][0].name}"))
            return rows.schedule(flat, row, machine)
        if plan is not None:
            notes.append((form.work, "register_tile", plan.reason))
            return contract.schedule(flat, plan, machine)
        notes.append(
            (form.work, "scalar_reduction", "no spatial axis along which all operands are contiguous or constant")
        )
        return s
    if isinstance(form, Map):
        size = 1
        for _, n in form.loops:
            size *= n
        notes.append((size, "elementwise", "vectors along the contiguous axis"))
        return elementwise.schedule(form, machine)
    notes.append((0, "loops", "not a formula"))
    return s
