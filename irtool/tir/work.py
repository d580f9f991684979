"""Work of a loop nest in multiply-adds."""

from __future__ import annotations

from ..symbolic_int import nominal
from .expr import Binary, Const, Expr, Load, post_order
from .stmt import For, PrimFunc, Stmt, Store, children


def count_macs(nest: PrimFunc) -> int:
    """Products of elements that the nest adds up, from its loops, at the upper bounds of lengths, or usual ones without bounds; before it is
    scheduled."""
    total = 0
    stack: list[tuple[Stmt, int]] = [(nest.body, 1)]
    while stack:
        s, times = stack.pop()
        if isinstance(s, For):
            times *= s.extent.int_value if isinstance(s.extent, Const) else 1
        if isinstance(s, Store) and _accumulates_product(s):
            total += times
        stack.extend((k, times) for k in children(s))
    return nominal(total)


def _accumulates_product(s: Store) -> bool:
    """`acc = acc + a * b` with elements in both factors."""
    if not isinstance(s.value, Binary) or s.value.op != "+":
        return False
    sides = (s.value.a, s.value.b)
    mine = [isinstance(e, Load) and e.source is s.buffer for e in sides]
    if sum(mine) != 1:
        return False
    product = sides[mine.index(False)]
    return any(isinstance(e, Binary) and e.op == "*" and _has_load(e.a) and _has_load(e.b) for e in post_order(product))


def _has_load(e: Expr) -> bool:
    return any(isinstance(x, Load) for x in post_order(e))
