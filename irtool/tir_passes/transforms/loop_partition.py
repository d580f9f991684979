"""Loops split where conditions inside of them begin to hold, and cease to: in the middle part they need not be asked."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...tir import dtypes
from ...tir.expr import Binary, Const, Expr, Select, Var, post_order
from ...tir.renaming import fresh_copy
from ...tir.sharing import loop_bounds
from ...tir.simplify import Simplifier
from ...tir.stmt import SERIAL, For, If, PrimFunc, Stmt, expressions, pre_order, rewrite_stmt, seq
from .simplify import Ranges, simplify_statement


def partition_loops(f: PrimFunc, no_unroll_loop_with_extent_one: bool = False) -> PrimFunc:
    """The function whose serial loops of constant extent are split, innermost first, where their conditions change.

    A part of one step is no loop, unless `no_unroll_loop_with_extent_one`.
    """
    ranges: Ranges = dict(loop_bounds(f))

    def change(s: Stmt) -> Stmt:
        if not isinstance(s, For) or s.kind != SERIAL or not isinstance(s.extent, Const):
            return s
        extent = int(s.extent.value)
        if extent < 2:
            return s
        begin, end = _middle(s, extent, ranges)
        if begin >= end or (begin, end) == (0, extent):
            return s
        parts = [(a, b) for a, b in ((0, begin), (begin, end), (end, extent)) if a < b]
        return seq([_part(s, a, b, ranges, no_unroll_loop_with_extent_one) for a, b in parts])

    return f.with_body(rewrite_stmt(f.body, change))


def _part(s: For, begin: int, end: int, ranges: Ranges, keep: bool) -> Stmt:
    if end - begin == 1 and not keep:
        body = fresh_copy(s.body, {s.var: Const(begin, s.var.dtype)})
        return simplify_statement(body, {**ranges, **loop_bounds(body)})
    v = Var(s.var.name, s.var.dtype)
    body = fresh_copy(s.body, {s.var: v + begin})
    return For(
        v, end - begin, simplify_statement(body, {**ranges, **loop_bounds(body), v: (0, end - begin - 1)}), s.kind
    )


def _middle(loop: For, extent: int, ranges: Ranges) -> tuple[int, int]:
    """The steps in which every condition on the loop's variable surely holds that does so in some step."""
    simplify = Simplifier({**ranges, **loop_bounds(loop.body), loop.var: (0, extent - 1)})
    begin, end = 0, extent
    for cond in _conditions(loop.body):
        steps = _steps(cond, loop.var, extent, simplify)
        if steps is not None and steps[0] < steps[1]:
            begin, end = max(begin, steps[0]), min(end, steps[1])
    return begin, end


def _conditions(body: Stmt) -> Iterator[Binary]:
    """The comparisons in conditions of statements and reads."""
    for s in pre_order(body):
        stack = [s.cond] if isinstance(s, If) else []
        stack += [e.cond for e in post_order(*expressions(s)) if isinstance(e, Select) and e.lazy]
        while stack:
            e: Expr = stack.pop()
            if isinstance(e, Binary) and e.op == "and":
                stack += [e.a, e.b]
            elif isinstance(e, Binary) and e.op in ("<", "<=") and dtypes.is_int(e.a.dtype):
                yield e


def _steps(cond: Binary, v: Var, extent: int, simplify: Simplifier) -> tuple[int, int] | None:
    """The range of steps in which a comparison surely holds; None if the variable has no say in it, or no simple one."""
    terms, offset = simplify.linear(cond.a - cond.b)
    k = terms.get(v, 0)
    if not k or any(v in set(post_order(t)) for t in terms if t is not v):
        return None
    high = float(offset + (cond.op == "<"))
    for t, c in terms.items():
        if t is not v:
            a, b = simplify.range(t)
            high += max(a * c, b * c)
    if math.isinf(high) or math.isnan(high):
        return None
    # k*v + high <= 0
    if k > 0:
        return 0, min(extent, math.floor(-high / k) + 1)
    return max(0, math.ceil(high / -k)), extent
