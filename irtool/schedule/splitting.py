"""Splits loops: where layouts have blocks, so that no place needs a division, and into vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from ..tir.expr import Binary, Const, Expr, Var, post_order
from ..tir.simplify import Simplifier
from .affine import loads
from .forms import Loop, Map, Reduction

Form = TypeVar("Form", Map, Reduction)


def split_for_layouts(form: Form, substitute: Callable[[Form, dict[Expr, Expr], tuple[Loop, ...]], Form]) -> Form:
    """The nest with every loop split that some place divides by a block size (blocks innermost among the new loops)."""
    for v, extent in form.loops:
        factor = _block_size(form, v, extent)
        if factor:
            outer, inner = Var(f"{v.name}_b"), Var(f"{v.name}_i")
            loops: list[Loop] = []
            for x, n in form.loops:
                loops += [(outer, n // factor), (inner, factor)] if x is v else [(x, n)]
            form = substitute(form, {v: outer * factor + inner}, tuple(loops))
    return form


def _block_size(form: Map | Reduction, v: Var, extent: int) -> int:
    roots = [s.value for s in form.stores]
    inner: Sequence[Loop] = ()
    if isinstance(form, Reduction):
        roots.append(form.update)
        inner = form.inner
    simplify = Simplifier({x: (0, n - 1) for x, n in (*form.loops, *inner)})
    places = [e.source.offset(e.indices) for e in loads(*roots) if e.source.layout is not None]
    places += [s.buffer.offset(s.indices) for s in form.stores if s.buffer.layout is not None]
    return divided_by(simplify, places, v, extent)


def divided_by(simplify: Simplifier, places: Sequence[Expr], v: Var, extent: int) -> int:
    """The number that places divide `v` by, if it divides the extent; 0 if there is none."""
    for p in places:
        for e in post_order(simplify(p)):
            if (
                isinstance(e, Binary)
                and e.op in ("floordiv", "floormod")
                and isinstance(e.b, Const)
                and any(x is v for x in post_order(e.a))
            ):
                c = int(e.b.value)
                terms, _ = simplify.linear(e.a)
                if terms.get(v) == 1 and extent % c == 0 and extent > c:
                    return c
    return 0


def pieces(extent: int, lanes: int) -> list[tuple[int, int, int]]:
    """The steps of a loop as `(first, vectors, lanes)`: narrower vectors for what is left over, then one by one."""
    found: list[tuple[int, int, int]] = []
    first = 0
    while extent - first >= min(lanes, 4) and lanes > 1:
        count = (extent - first) // lanes
        if count:
            found.append((first, count, lanes))
        first += count * lanes
        lanes //= 2
    return [*found, (first, extent - first, 1)] if first < extent else found
