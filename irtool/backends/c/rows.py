"""What the statements of a tile read again and again: it is read once, into a variable.

    acc_0_0 = acc_0_0 + (x[0] - (v){0}) * *(const v_u *)w;             const v v_0 = x[0] - (v){0}, v_1 = *(const v_u *)w;
    acc_0_1 = acc_0_1 + (x[0] - (v){0}) * *(const v_u *)(w + 16);  ⇒   acc_0_0 = acc_0_0 + v_0 * v_1;
    acc_1_0 = acc_1_0 + (x[8] - (v){0}) * *(const v_u *)w;             …

Compilers find that by themselves, and take a fifth of their time for it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import fields

from ...tir.expr import Expr, Load, post_order
from ...tir.stmt import VECTORIZED, For, Scope, Stmt
from ..vectors import ir
from ..vectors.lower import stores_of


def is_in_registers(s: Stmt) -> bool:
    """True for a vectorized loop that writes registers only, so that memory is the same before and behind it."""
    if not isinstance(s, For) or s.kind != VECTORIZED:
        return False
    return all(x.buffer.scope == Scope.REGISTER and x.buffer.shape[-1] > 1 for x in stores_of(s))


def find_rows(stmts: Sequence[Stmt]) -> list[list[Stmt]]:
    """The statements, those one behind the other that write registers only as one row."""
    rows: list[list[Stmt]] = []
    in_row = False
    for s in stmts:
        joins = is_in_registers(s)
        if joins and in_row:
            rows[-1].append(s)
        else:
            rows.append([s])
        in_row = joins
    return rows


def repeated_reads(bodies: Sequence[ir.Body]) -> set[Hashable]:
    """The keys of what is read more than once, see `key_of`."""
    seen: set[Hashable] = set()
    twice: set[Hashable] = set()
    for body in bodies:
        for s in body.steps:
            key = key_of(s)
            if key is not None:
                (twice if key in seen else seen).add(key)
    return twice


def key_of(s: ir.Step) -> Hashable | None:
    """What tells a vector that is read from memory from others; None for any other step."""
    if isinstance(s, ir.LoadVector):
        return None if s.once else _all_of(s)
    if isinstance(s, ir.Splat) and _reads_memory(s.scalar):
        return _all_of(s)
    return None


def _all_of(s: ir.Value) -> Hashable:
    """Everything that the step is made of: two that differ in anything are two."""
    return type(s), *(getattr(s, f.name) for f in fields(s) if f.init)


def _reads_memory(e: Expr) -> bool:
    """True for an expression with elements of memory, and none of registers."""
    read = [x.source for x in post_order(e) if isinstance(x, Load)]
    return bool(read) and all(b.scope != Scope.REGISTER for b in read)
