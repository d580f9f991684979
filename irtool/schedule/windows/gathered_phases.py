"""Phases of a strided transposed convolution that are of different sizes, written straight to where they belong.

Where the window is no multiple of the stride, each kind of phase is a reduction of its own, and a last stage puts them together:

    for y: acc = 0; for k in 0 … 1: acc += …; a[y] = acc
    for y: acc = 0;                 acc += …; b[y] = acc
    for y: out[y] = f(y % 2 < 1 ? a[y // 2] : b[y // 2])

    ⇒   for y: acc = 0; for k in 0 … 1: acc += …; out[2 * y] = f(acc)
        for y: acc = 0;                 acc += …; out[2 * y + 1] = f(acc)

The last stage is parted by the remainders that it tells apart; each part reads one of the reductions, and becomes part of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

from ...tir.expr import Binary, Const, Expr, Var, post_order, substitute, substitution
from ...tir.forms import AnyForm, Map, Reduction, buffers_read
from ...tir.kernel import Kernel
from ...tir.simplify import Simplifier
from ...tir.stmt import Buffer, Scope
from ..core.affine import loads
from ..core.forms import Loop
from ..cost.machine import WRITTEN_OUT
from .slice_domain import slice_domain
from .subpixel import without_copy


def decompose_gathers(kernel: Kernel) -> Kernel:
    """The kernel without a stage that puts phases together; itself if it has none."""
    forms = kernel.stages
    for n, gather in enumerate(forms):
        if not isinstance(gather, Map) or len(gather.stores) != 1:
            continue
        sources = _sources(forms, n, gather)
        parts = [_joined(part, sources) for part in _by_remainders(gather)] if len(sources) > 1 else []
        made = [r for r in parts if r is not None]
        if len(parts) < 2 or len(made) < len(parts):
            continue
        others = [f for f in forms[:n] if not any(f is r for r in sources.values())]
        made, others = without_copy(made, others, forms[n + 1 :])
        return kernel.with_stages([*others, *made, *forms[n + 1 :]])
    return kernel


def _sources(forms: Sequence[AnyForm], at: int, gather: Map) -> dict[Buffer, Reduction]:
    """The reductions before a stage of which it alone reads the results, by their buffers."""
    read = buffers_read(gather)
    found: dict[Buffer, Reduction] = {}
    for r in forms[:at]:
        if not isinstance(r, Reduction) or len(r.stores) != 1:
            continue
        b = r.stores[0].buffer
        if b.scope == Scope.GLOBAL and b in read and b not in buffers_read(*forms[:at], *forms[at + 1 :]):
            found[b] = r
    return found


def _by_remainders(m: Map) -> list[Map]:
    """A stage for each remainder of its variables that the values tell apart; none where these are too many."""
    divisors: dict[Var, int] = {}
    for e in post_order(m.stores[0].value):
        if not isinstance(e, Binary) or e.op != "floormod" or not isinstance(e.b, Const):
            continue
        for v in post_order(e.a):
            if isinstance(v, Var):
                divisors[v] = math.lcm(divisors.get(v, 1), int(e.b.value))
    divided = [(v, n, divisors[v]) for v, n in m.loops if v in divisors]
    if not divided or math.prod(d for _, _, d in divided) > WRITTEN_OUT or any(n < d for _, n, d in divided):
        return []
    return [_of_remainders(m, r) for r in product(*(_remainders(v, n, d) for v, n, d in divided))]


def _remainders(v: Var, extent: int, divisor: int) -> list[tuple[Var, int, int, int]]:
    """What a variable is for each of its remainders: the variable, the divisor, the remainder, and how many values have it."""
    return [(v, divisor, r, -(-(extent - r) // divisor)) for r in range(divisor)]


def _of_remainders(m: Map, remainders: Sequence[tuple[Var, int, int, int]]) -> Map:
    """The steps of a stage for which variables have given remainders."""
    chosen = {v: (d, r, n) for v, d, r, n in remainders}
    loops: list[Loop] = []
    values: dict[Expr, Expr] = {}
    for v, extent in m.loops:
        d, r, n = chosen.get(v, (1, 0, extent))
        fresh = Var(v.name, v.dtype)
        loops.append((fresh, n))
        values[v] = fresh * d + r
    simplify = Simplifier({v: (0, n - 1) for v, n in loops})

    def here(e: Expr) -> Expr:
        return simplify(substitute(e, values))

    (store,) = m.stores
    return Map(tuple(loops), (store.rewritten(here),))


def _joined(m: Map, sources: Mapping[Buffer, Reduction]) -> Reduction | None:
    """The reduction that stores what a stage makes of its results; None where the stage reads several results, or not one by one."""
    (store,) = m.stores
    reads = [e for e in loads(store.value) if e.source in sources]
    simplify = Simplifier({v: (0, n - 1) for v, n in m.loops})
    if not reads or any(e.source is not reads[0].source for e in reads):
        return None
    if any(simplify(a) is not simplify(b) for e in reads for a, b in zip(e.indices, reads[0].indices)):
        return None
    assert isinstance(reads[0].source, Buffer)
    r = sources[reads[0].source]
    (between,) = r.stores
    extents, counts = dict(r.loops), dict(m.loops)
    values: dict[Expr, Expr] = {}
    fixed: dict[Var, int] = {}
    spans: dict[Var, tuple[int, int]] = {}
    for own, i in zip(between.indices, reads[0].indices):
        terms, first = simplify.linear(i)
        if isinstance(own, Const):
            if terms or first != own.value:
                return None
        elif not isinstance(own, Var) or own in fixed or own in spans:
            return None
        elif not terms:
            fixed[own] = int(first)
        else:
            (v, step), *more = terms.items()
            if more or step != 1 or not isinstance(v, Var) or v in values:
                return None
            spans[own] = (int(first), int(first) + counts[v])
            values[v] = own - int(first)
    inside = all(
        a >= 0 and z <= extents[v] for v, (a, z) in (*spans.items(), *((v, (n, n + 1)) for v, n in fixed.items()))
    )
    if not inside or {*values} != {*counts} or {*fixed, *spans} != {*extents}:
        return None
    stored = store.rewritten(substitution({**values, **dict.fromkeys(reads, between.value)}))
    return slice_domain(replace(r, stores=(stored,)), spans, fixed)
