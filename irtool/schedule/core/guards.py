"""Predicates of a reduction's reads as conditions on its steps.

    acc += (0 <= y + k - 1 < n ? x[y + k - 1] : 0) * w[k]    ⇒    for k where 0 <= y + k - 1 < n: acc += x[y + k - 1] * w[k]

If the other branch of a predicate leaves the accumulator unchanged, the step can be skipped. The conditions then become bounds of
the reduction's loops, or are decided for each step of an unrolled tile; inside of an image no condition remains.

If `w` may be infinite, the step is not skipped: the product with the zero is NaN.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from ...symbolic_int import as_integer, ascending, bound, clamp, holds
from ...tir import dtypes
from ...tir.expr import Binary, Cast, Const, Expr, Load, Select, Var, const, minimum, post_order, substitute
from ...tir.expr import maximum as larger
from ...tir.simplify import Simplifier
from ...tir.stmt import For, Let, Stmt, substitute_stmt
from ..cost.machine import WRITTEN_OUT
from .affine import depends, simplifier
from .forms import Reduction


def extract_predicates(r: Reduction, formed: bool = False) -> Reduction:
    """The reduction with the predicates of its reads in `guards`; the same object if a predicate is of another kind.

    `formed`: extract predicates of products whose other factor may be infinite, too. The result's `formed` is true if there are
    any.
    """
    update = r.update
    if not isinstance(update, Binary) or not isinstance(update.a, Load) or update.a.source is not r.acc:
        return r
    simplify = simplifier(r.loops, r.inner)
    value = update.b
    conditions: list[Expr] = []
    is_formed = r.formed
    while (predicate := _guard(value, update.op, r.init)) is not None:
        guard, exact = predicate
        if not exact and not formed:
            break
        is_formed = is_formed or not exact
        stack = [guard.cond]
        while stack:
            c = stack.pop()
            if isinstance(c, Binary) and c.op == "and":
                stack += [c.b, c.a]
                continue
            form = as_bound(c)
            if form is None:
                return r
            form = simplify(form)
            terms, _ = simplify.linear(form)
            if not all(isinstance(t, Var) for t in terms):
                return r
            conditions.append(form)
        value = substitute(value, {guard: guard.then})
    if not conditions:
        return r
    update = Binary(update.op, update.a, value, update.dtype)
    return replace(r, update=update, guards=(*r.guards, *conditions), formed=is_formed)


def _guard(e: Expr, op: str, init: Expr) -> tuple[Select, bool] | None:
    """The predicate whose other branch leaves the accumulator unchanged, and whether that holds for all values of the other
    factors."""
    exact = True
    while True:
        if isinstance(e, Select):
            if not e.lazy or not isinstance(e.other, Const) or not isinstance(init, Const):
                return None
            neutral = e.other.value == (0 if op == "+" else init.value)
            return (e, exact) if neutral and op in ("+", "max", "min", "maximum", "minimum") else None
        if isinstance(e, Cast) and op == "+":
            e = e.value
        elif isinstance(e, Binary) and e.op == "*" and op == "+":
            e, factor = (e.b, e.a) if _holds_guard(e.b) else (e.a, e.b)
            exact = exact and (factor is e or _is_finite(factor))  # a square is one of the same zero
        else:
            return None


def _is_finite(e: Expr) -> bool:
    """True if `e` times zero is always zero: an integer, or a float that is known to be finite."""
    while isinstance(e, Cast) and dtypes.itemsize(e.dtype) >= dtypes.itemsize(e.value.dtype):
        e = e.value
    return not dtypes.is_float(e.dtype) or (isinstance(e, Load) and e.source.finite)


def _holds_guard(e: Expr) -> bool:
    while isinstance(e, Cast):
        e = e.value
    return isinstance(e, Select) and e.lazy


def as_bound(condition: Expr) -> Expr | None:
    """An integer that is at least 0 if the condition holds; None for other conditions."""
    if (
        not isinstance(condition, Binary)
        or condition.op not in ("<", "<=")
        or condition.a.dtype not in ("int32", "int64")
    ):
        return None
    difference = condition.b - condition.a
    return difference - 1 if condition.op == "<" else difference


def first_and_end(simplify: Simplifier, bounds: list[Expr], k: Var, extent: int) -> tuple[Expr, Expr]:
    """The first value of `k` for which all bounds are at least 0, and the one after the last; `k` occurs in each bound."""
    first: Expr = const(0)
    end: Expr = const(extent)
    for b in bounds:
        terms, _ = simplify.linear(b)
        step = terms[k]
        rest = simplify(b - k * step)
        if step > 0:
            first = larger(first, rest // step * -1)
        else:
            end = minimum(end, rest // -step + 1)
    return simplify(first), simplify(end)


def bounded_loop(simplify: Simplifier, bounds: list[Expr], k: Var, extent: int, body: Stmt) -> Stmt:
    """The loop over the values of `k` for which all bounds are at least 0."""
    first, end = first_and_end(simplify, bounds, k, extent)
    start, moved = Var(f"{k.name}_first"), Var(k.name)
    return Let(start, first, For(moved, end - start, substitute_stmt(body, {k: moved + start})))


def free_range(simplify: Simplifier, guards: list[Expr], x: Var, extent: int) -> tuple[int, int]:
    """The first and the last value of `x` for which every guard with `x` holds, whatever the other variables are."""
    first, last = 0, extent - 1
    for g in guards:
        terms, _ = simplify.linear(g)
        step = terms.get(x, 0)
        if not step:
            continue
        low, _ = simplify.range(simplify(g - x * step))
        if low == -math.inf:
            return 0, -1
        if step > 0:
            first = max(first, -(as_integer(low) // step))
        else:
            last = min(last, as_integer(low) // -step)
    return first, last


def changes(simplify: Simplifier, values: Sequence[Expr], v: Var, extent: int) -> list[int] | None:
    """The steps of a loop at which conditions of `if_then_else` begin or cease to hold, with the loop's beginning and end.

    None if a condition depends on `v` otherwise than by a bound, if there are too many such steps, or if no bound holds for more
    than single steps.
    """
    bounds = {0, extent}
    stack = [e.cond for e in post_order(*values) if isinstance(e, Select) and e.lazy and depends(e.cond, v)]
    while stack:
        c = stack.pop()
        if not depends(c, v):
            continue
        if isinstance(c, Binary) and c.op in ("and", "or"):
            stack += [c.b, c.a]
            continue
        difference = as_bound(c)
        terms, rest = simplify.linear(difference) if difference is not None else ({}, 0)
        step = terms.get(v, 0)
        if len(terms) != 1 or not step:
            return None
        crossing = -(rest // step) if step > 0 else rest // -step + 1
        bounds.add(clamp(crossing, 0, extent))
    cuts = ascending(bounds)
    return cuts if len(cuts) <= 2 * WRITTEN_OUT and max(bound(b - a) for a, b in pairwise(cuts)) >= 4 else None


def conditions_within(simplify: Simplifier, index: Expr, first: int, last: int) -> list[Expr]:
    """The conditions for `first <= index <= last`, without those that always hold."""
    low, high = simplify.range(index)
    conditions = [] if holds(operator.ge, low, first) else [const(first - 1) < index]
    return [*conditions, index < const(last + 1)] if not holds(operator.le, high, last) else conditions


def existing_elements(
    index: Expr, size: int, guards: Sequence[Expr], simplify: Simplifier
) -> tuple[int, int, list[Expr]]:
    """The first and the last element along an axis of `size` elements for which the guards on `index` hold, and the other
    guards."""
    first, last, others = 0, size - 1, []
    for g in guards:
        low, high = simplify(g - index), simplify(g + index)
        if isinstance(low, Const):
            first = max(first, -low.int_value)
        elif isinstance(high, Const):
            last = min(last, high.int_value)
        else:
            others.append(g)
    return first, last, others
