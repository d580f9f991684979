"""Buffers of one dimension: every index becomes the place in memory that it stands for."""

from __future__ import annotations

from .expr import Expr, Load, const, rewrite
from .sharing import loop_bounds
from .simplify import Simplifier
from .stmt import Allocate, AllocateConst, Annotate, Buffer, PrimFunc, Stmt, Store, rewrite_stmt


def flatten(f: PrimFunc) -> PrimFunc:
    """The function over buffers of one dimension. `preflattened` of the result has the original parameters."""
    flattened: dict[Buffer, Buffer] = {}
    simplify = Simplifier(loop_bounds(f))
    memo: dict[Expr, Expr] = {}

    def flat(b: Buffer) -> Buffer:
        if b not in flattened:
            flattened[b] = b.replace(shape=(b.size,))
        return flattened[b]

    def place(b: Buffer, indices: tuple[Expr, ...]) -> Expr:
        return simplify(b.offset(indices)) if indices else const(0)

    def change_expr(e: Expr) -> Expr:
        if isinstance(e, Load):
            return Load(flat(e.source), (place(e.source, e.indices),))
        return e

    def change(s: Stmt) -> Stmt:
        if isinstance(s, Store):
            return Store(flat(s.buffer), (place(s.buffer, s.indices),), s.value)
        if isinstance(s, Allocate):
            return Allocate(flat(s.buffer), s.body)
        if isinstance(s, Annotate):
            return Annotate(flat(s.buffer), s.key, s.value, s.body)
        if isinstance(s, AllocateConst):
            return AllocateConst(flat(s.buffer), s.data, s.body, s.storage_index)
        return s

    params = [flat(b) for b in f.params]
    body = rewrite_stmt(f.body, change, lambda e: rewrite(e, change_expr, memo))
    return PrimFunc(f.name, params, body, f.num_outputs, f.attrs, f.checked_type, f.original_params)
