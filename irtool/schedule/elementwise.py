"""Element-by-element nests: loops fused where memory allows, the contiguous one in vectors."""

from __future__ import annotations

from ..tir import dtypes
from ..tir.expr import Expr, Select, Var, const, post_order, rewrite
from ..tir.simplify import Simplifier
from ..tir.stmt import PARALLEL, SERIAL, VECTORIZED, For, Stmt, Store, seq
from .affine import coefficients, loads, stride
from .machine import Machine
from .nests import Loop, Map
from .splitting import split_for_layouts

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
    from ..tir.expr import Load, children

    while stack:
        e = stack.pop()
        if e in seen or isinstance(e, Load):
            continue
        seen.add(e)
        if any(e is v for v in variables):
            return True
        stack.extend(children(e))
    return False


def schedule(m: Map, machine: Machine) -> Stmt:
    """Vectors along the loop in which the first store is contiguous; other loops outside, the outermost in parallel."""
    m = flatten_loops(split_for_layouts(m, substituted))
    chosen = _vector_loop(m)
    elements = 1
    for _, n in m.loops:
        elements *= n
    widest = max((dtypes.itemsize(s.buffer.dtype) for s in m.stores), default=1)
    lanes = machine.lanes(max(widest, 4))
    if chosen is None or lanes < 2:
        return _plain(m, elements)
    v, extent = m.loops[chosen]
    while lanes > 4 and (extent < lanes or (extent % lanes and extent < 4 * lanes)):
        lanes //= 2
    if extent < lanes:
        return _plain(m, elements)
    others = [loop for n, loop in enumerate(m.loops) if n != chosen]
    parts: list[Stmt] = []
    whole, left = divmod(extent, lanes)
    for first, count, width in ((0, whole, lanes), (whole * lanes, 1 if left else 0, left)):
        if not count:
            continue
        outer, lane = Var(f"{v.name}_o"), Var(f"{v.name}_v")
        fresh = [(Var(x.name), n) for x, n in others]
        values: dict[Expr, Expr] = {x: y for (x, _), (y, _) in zip(others, fresh)}
        step: Expr = outer * width if count > 1 else const(0)
        values[v] = step + lane + first
        loops = [*fresh, *([(outer, count)] if count > 1 else [])]
        inner = substituted(m, values, (*loops, (lane, width)))
        body: Stmt = For(lane, width, seq(inner.stores), VECTORIZED if width > 1 else SERIAL)
        for n, (x, size) in reversed(list(enumerate(loops))):
            body = For(x, size, body, PARALLEL if n == 0 and elements >= _PARALLEL_ELEMENTS else SERIAL)
        parts.append(body)
    return seq(parts)


def _plain(m: Map, elements: int) -> Stmt:
    body = seq(m.stores)
    for n, (x, size) in reversed(list(enumerate(m.loops))):
        body = For(x, size, body, PARALLEL if n == 0 and elements >= _PARALLEL_ELEMENTS else SERIAL)
    return body


def _vector_loop(m: Map) -> int | None:
    """The loop along which every store is contiguous and every read contiguous or constant (or in even steps)."""
    best: tuple[int, int] | None = None
    simplify = _simplifier(m.loops)
    for n, (v, extent) in enumerate(m.loops):
        if extent < 4 or any(stride(simplify, s.buffer.offset(s.indices), v) != 1 for s in m.stores):
            continue
        strides = [stride(simplify, e.source.offset(e.indices), v) for e in loads(*(s.value for s in m.stores))]
        if any(s is None for s in strides) or _guarded(m, v):
            continue
        cost = sum(1 for s in strides if s not in (0, 1))
        if best is None or cost < best[0]:
            best = (cost, n)
    return best[1] if best is not None else None


def _guarded(m: Map, v: Var) -> bool:
    for s in m.stores:
        for e in post_order(s.value):
            if isinstance(e, Select) and e.lazy and any(x is v for x in post_order(e.cond)):
                return True
    return False
