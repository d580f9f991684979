"""Element-by-element nests: loops fused where memory allows, the contiguous one in vectors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ..tir import dtypes
from ..tir.expr import Expr, Load, Var, children, const, rewrite
from ..tir.simplify import Simplifier
from ..tir.stmt import PARALLEL, SERIAL, VECTORIZED, For, Stmt, Store, seq
from . import turning
from .affine import coefficients, loads, stride
from .guards import changes
from .machine import Machine
from .forms import Loop, Map
from .splitting import pieces, split_for_layouts

_PARALLEL_ELEMENTS = 1 << 15


def _simplifier(loops: tuple[Loop, ...]) -> Simplifier:
    return Simplifier({v: (0, n - 1) for v, n in loops})


def substituted(m: Map, values: dict[Expr, Expr], loops: tuple[Loop, ...]) -> Map:
    """The nest with variables replaced, over other loops."""
    simplify = _simplifier(loops)
    memo = dict(values)

    def change(e: Expr) -> Expr:
        return simplify(rewrite(e, lambda x: x, memo))

    return Map(loops, tuple(Store(s.buffer, [change(i) for i in s.indices], change(s.value)) for s in m.stores))


def flatten_loops(m: Map) -> Map:
    """Fuses neighbouring loops through which every place moves as through one loop, and which nothing else uses."""
    at = len(m.loops) - 1
    while at > 0:
        (outer, n), (inner, k) = m.loops[at - 1], m.loops[at]
        simplify = _simplifier(m.loops)
        places = [e.source.offset(e.indices) for e in loads(*(s.value for s in m.stores))]
        places += [s.buffer.offset(s.indices) for s in m.stores]
        if all(
            a is not None and b is not None and a == b * k
            for a, b in (coefficients(simplify, i, (outer, inner)) for i in places)
        ) and not _used_elsewhere(m, (outer, inner)):
            fused = Var(f"{outer.name}{inner.name}")
            loops = (*m.loops[: at - 1], (fused, n * k), *m.loops[at + 1 :])
            m = substituted(m, {outer: fused // k, inner: fused % k}, loops)
        at -= 1
    return m


def _used_elsewhere(m: Map, variables: tuple[Var, ...]) -> bool:
    """True if a variable occurs outside of indices."""
    seen: set[Expr] = set()
    stack: list[Expr] = [s.value for s in m.stores]
    while stack:
        e = stack.pop()
        if e in seen or isinstance(e, Load):
            continue
        seen.add(e)
        if any(e is v for v in variables):
            return True
        stack.extend(children(e))
    return False


def schedule(m: Map, machine: Machine, rows: int = 0) -> Stmt:
    """Vectors along the loop in which the first store is contiguous; other loops outside, the outermost in parallel.

    Where conditions on that loop choose what is read (padding, concatenation), it is cut into loops without them. `rows`: if
    there are so many elements, they are made one by one, each with the row that it belongs to.
    """
    m = flatten_loops(split_for_layouts(m, substituted))
    elements = 1
    for _, n in m.loops:
        elements *= n
    kind = PARALLEL if elements >= _PARALLEL_ELEMENTS else SERIAL
    lanes = machine.lanes(_widest(m))
    axes = turning.choose_axes(m) if lanes > 1 and elements != rows else None
    if axes is not None:
        return turning.schedule(m, axes, lanes, substituted, kind)
    chosen = _vector_loop(m) if lanes > 1 and elements != rows else None
    if chosen is None:
        return _around(m.loops, seq(m.stores), kind)
    v, cuts = chosen
    others = [(x, Var(x.name), n) for x, n in m.loops if x is not v]
    outside = tuple((y, n) for _, y, n in others)
    parts: list[Stmt] = []
    for begin, end in pairwise(cuts):
        for first, count, width in pieces(end - begin, lanes):
            outer, lane = Var(f"{v.name}_o"), Var(f"{v.name}_v")
            values: dict[Expr, Expr] = {x: y for x, y, _ in others}
            values[v] = (outer * width if count > 1 else const(0)) + lane + (begin + first)
            steps = ((outer, count),) if count > 1 else ()
            inner = substituted(m, values, (*outside, *steps, (lane, width)))
            body = For(lane, width, seq(inner.stores), VECTORIZED if width > 1 else SERIAL)
            parts.append(_around(steps, body, SERIAL if outside else kind))
    return _around(outside, seq(parts), kind)


def _widest(m: Map) -> int:
    """Bytes of the widest numbers that are computed with, at least 4: what is narrower fills a part of a register."""
    widest = 4
    seen: set[Expr] = set()
    stack: list[Expr] = [s.value for s in m.stores]
    while stack:
        e = stack.pop()
        if e not in seen:
            seen.add(e)
            widest = max(widest, dtypes.itemsize(e.dtype))
            stack.extend(() if isinstance(e, Load) else children(e))
    return widest


def _around(loops: Sequence[Loop], body: Stmt, kind: str) -> Stmt:
    """The loops around a body, the outermost of the given kind."""
    for n, (x, size) in reversed(list(enumerate(loops))):
        body = For(x, size, body, kind if n == 0 else SERIAL)
    return body


def _vector_loop(m: Map) -> tuple[Var, list[int]] | None:
    """The loop along which every store is contiguous and every read contiguous or constant (or in even steps), and the steps
    from which on other conditions hold, its beginning and end among them."""
    best: tuple[int, Var, list[int]] | None = None
    simplify = _simplifier(m.loops)
    for v, extent in m.loops:
        if extent < 4 or any(stride(simplify, s.buffer.offset(s.indices), v) != 1 for s in m.stores):
            continue
        strides = [stride(simplify, e.source.offset(e.indices), v) for e in loads(*(s.value for s in m.stores))]
        cuts = changes(simplify, [s.value for s in m.stores], v, extent)
        if cuts is None or any(s is None for s in strides):
            continue
        cost = sum(1 for s in strides if s not in (0, 1))
        if best is None or cost < best[0]:
            best = (cost, v, cuts)
    return best[1:] if best is not None else None
