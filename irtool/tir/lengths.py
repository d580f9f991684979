"""Loop nests of lengths that only the run knows, for numbers of them."""

from __future__ import annotations

from collections.abc import Mapping

from ..symbolic_int import Symbol, SymbolicInt, value_at
from .build import const
from .expr import Const, Expr, Load, post_order, rewrite
from .stmt import Allocate, AllocateConst, Annotate, Buffer, PrimFunc, Stmt, Store, expressions, pre_order, rewrite_stmt


def nest_with_lengths(f: PrimFunc, values: Mapping[Symbol, int]) -> PrimFunc:
    """The function in which each symbol is its number: in extents, bounds, numbers and shapes of buffers."""
    buffers = dict.fromkeys((*f.params, *f.preflattened))
    for s in pre_order(f.body):
        if isinstance(s, Allocate | AllocateConst | Store | Annotate):
            buffers.setdefault(s.buffer)
        buffers.update(
            dict.fromkeys(
                e.source for e in post_order(*expressions(s)) if isinstance(e, Load) and isinstance(e.source, Buffer)
            )
        )
    replaced = {
        b: b.replace(shape=tuple(_number(d, values) for d in b.shape))
        for b in buffers
        if any(isinstance(d, SymbolicInt) for d in b.shape)
    }
    memo: dict[Expr, Expr] = {}

    def settled(e: Expr) -> Expr:
        if isinstance(e, Const) and isinstance(e.value, SymbolicInt):
            return const(_number(e.value, values), e.dtype)
        return Load(replaced[e.source], e.indices) if isinstance(e, Load) and e.source in replaced else e

    def change(s: Stmt) -> Stmt:
        if isinstance(s, Store) and s.buffer in replaced:
            return Store(replaced[s.buffer], s.indices, s.value)
        if isinstance(s, Allocate) and s.buffer in replaced:
            return Allocate(replaced[s.buffer], s.body)
        if isinstance(s, Annotate) and s.buffer in replaced:
            return Annotate(replaced[s.buffer], s.key, s.value, s.body)
        return s

    return PrimFunc(
        f.name,
        [replaced.get(b, b) for b in f.params],
        rewrite_stmt(f.body, change, lambda e: rewrite(e, settled, memo)),
        f.num_outputs,
        f.attrs,
        None,
        [replaced.get(b, b) for b in f.preflattened],
    )


def _number(d: int, values: Mapping[Symbol, int]) -> int:
    extent = value_at(d, values)
    return extent if isinstance(extent, SymbolicInt) else int(extent)
