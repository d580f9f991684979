"""Strided transposed convolutions without buffers between their phases.

Lowering gives a reduction for each kind of phase of the result (the rows y with the same y % stride, whose windows have one
size), and a stage that interleaves the phases:

    for p, y: acc = 0; for k: acc += pad[y + (p + 1) // 2 + k] * w[…]; t[p, y] = acc
    for y: out[y] = f(t[y % 2, y // 2])

    ⇒   for y: acc = 0; for k: acc += (0 <= y + k … ? x[y + k …] : 0) * w[…]; out[2 * y] = f(acc)       (p = 0)
        for y: …; out[2 * y + 1] = f(acc)                                                               (p = 1)

The last stage is partitioned by its remainders; each slice reads one phase of one reduction, and becomes its epilogue. The padded
copy, of which every phase reads only a part, becomes a guard.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from ...symbolic_int import as_integer, estimate
from ...tir.expr import Binary, Const, Expr, Var, post_order, substitution, variables
from ...tir.forms import AnyForm, Map, Reduction, buffers_read
from ...tir.kernel import Kernel
from ...tir.stmt import Buffer, Scope, Store
from ...tir.vector_target import VectorTarget
from ..core.affine import loads, simplifier
from ..cost.machine import WRITTEN_OUT
from .padded_copy import inline_padding
from .slice_domain import Span, slice_domain


def decompose_phases(kernel: Kernel) -> Kernel:
    """The kernel without the stage that interleaves phases; itself if it has none."""
    forms = kernel.stages
    for n, gather in enumerate(forms):
        sources = _sources(forms, n, gather) if isinstance(gather, Map) and len(gather.stores) == 1 else {}
        if not isinstance(gather, Map) or not sources:
            continue
        phases = [
            _joined(part, sources) if buffers_read(part) & sources.keys() else part for part in _by_remainders(gather)
        ]
        parts = [f for f in phases if f is not None]
        if len(parts) < 2 or len(parts) < len(phases):
            continue
        before = [f for f in forms[:n] if not any(f is r for r in sources.values())]
        parts, before = _without_copy(parts, before, forms[n + 1 :])
        return kernel.with_stages([*before, *parts, *forms[n + 1 :]])
    return kernel


@estimate
def stores_vectors(kernel: Kernel, target: VectorTarget, blocks: bool) -> bool:
    """True if every reduction of a kernel has a loop whose results fill at least half a vector of contiguous elements.

    `blocks`: results may get a blocked layout. The pixels of a phase are not contiguous, and are stored one by one if channels
    are few or far from each other.
    """
    least = target.lanes(4) // 2

    def is_vector(s: Store, v: Var, extent: int) -> bool:
        axes = [n for n, i in enumerate(s.indices) if i is v]
        return extent >= least and bool(axes) and (blocks or axes[0] == len(s.indices) - 1)

    reductions = [r for r in kernel.stages if isinstance(r, Reduction)]
    return least < 2 or all(any(is_vector(s, v, n) for v, n in r.loops for s in r.stores) for r in reductions)


def phases(r: Reduction) -> list[Reduction]:
    """One reduction for each value of the loops in divisions; the reduction itself if it has none, or too many."""
    divided = _divided(r)
    loops = [(v, n) for v, n in r.loops if v in divided]
    if not loops or math.prod(n for _, n in loops) > WRITTEN_OUT:
        return [r]
    names = [v for v, _ in loops]
    return [slice_domain(r, {}, dict(zip(names, values))) for values in product(*(range(n) for _, n in loops))]


def _divided(r: Reduction) -> set[Var]:
    """The loop variables in divisions of indices."""
    nodes = post_order(*(i for e in loads(r.update) for i in e.indices))
    return {v for x in nodes if isinstance(x, Binary) and x.op in ("floordiv", "floormod") for v in variables(x.a)}


def _sources(forms: Sequence[AnyForm], number: int, gather: Map) -> dict[Buffer, Reduction]:
    """The reductions before stage `number` whose results it alone reads, by their buffers."""
    read = buffers_read(gather)
    sources: dict[Buffer, Reduction] = {}
    for r in forms[:number]:
        if not isinstance(r, Reduction) or len(r.stores) != 1:
            continue
        b = r.stores[0].buffer
        if b.scope == Scope.GLOBAL and b in read and b not in buffers_read(*forms[:number], *forms[number + 1 :]):
            sources[b] = r
    return sources


def _by_remainders(m: Map) -> Iterator[Map]:
    """A slice of a stage for each remainder of its variables in the values; nothing if there are too many."""
    divisors: dict[Var, int] = {}
    for e in post_order(m.stores[0].value):
        if isinstance(e, Binary) and e.op == "floormod" and isinstance(e.b, Const):
            for v in variables(e.a):
                divisors[v] = math.lcm(divisors.get(v, 1), e.b.int_value)
    divided = [(v, n, divisors[v]) for v, n in m.loops if v in divisors]
    if not divided or math.prod(d for _, _, d in divided) > WRITTEN_OUT or any(n < d for _, n, d in divided):
        return
    for first in product(*(range(d) for _, _, d in divided)):
        yield slice_domain(m, {v: Span.between(k, n, d) for (v, n, d), k in zip(divided, first)}, {})


def _joined(m: Map, sources: Mapping[Buffer, Reduction]) -> Reduction | None:
    """The reduction with the stage as its epilogue; None if the stage reads several results, or not one by one."""
    (store,) = m.stores
    reads = [e for e in loads(store.value) if e.source in sources]
    simplify = simplifier(m.loops)
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
    spans: dict[Var, Span] = {}
    for own, i in zip(between.indices, reads[0].indices):
        terms, first = simplify.linear(i)
        if isinstance(own, Const):
            if terms or first != own.value:
                return None
        elif not isinstance(own, Var) or own in fixed or own in spans:
            return None
        elif not terms:
            fixed[own] = as_integer(first)
        else:
            (v, step), *more = terms.items()
            if more or step != 1 or not isinstance(v, Var) or v in values:
                return None
            spans[own] = Span(as_integer(first), counts[v])
            values[v] = own - as_integer(first)
    inside = all(0 <= n < extents[v] for v, n in fixed.items()) and all(
        x.first >= 0 and x.end <= extents[v] for v, x in spans.items()
    )
    if not inside or {*values} != {*counts} or {*fixed, *spans} != {*extents}:
        return None
    stored = store.rewritten(substitution({**values, **dict.fromkeys(reads, between.value)}))
    return slice_domain(replace(r, stores=(stored,)), spans, fixed)


def _without_copy(
    parts: list[Map | Reduction], before: list[AnyForm], behind: Iterable[AnyForm]
) -> tuple[list[Map | Reduction], list[AnyForm]]:
    """Phases that read the source of the padded copy in the last stage `before` them, and the stages without it.

    Both stay the same if there is no such copy, or others read it.
    """
    copy = before[-1] if before else None
    if isinstance(copy, Map) and copy.stores[0].buffer not in buffers_read(*before[:-1], *behind):
        opened = [inline_padding(f, copy) for f in parts]
        if all(f is not None for f in opened):
            return [f for f in opened if f is not None], before[:-1]
    return parts, before
