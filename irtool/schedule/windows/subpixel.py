"""Strided transposed convolutions without buffers in between.

They are lowered to a reduction for each phase of the result (the rows y with y % stride the same), and a stage that puts
the phases together:

    for p, y: acc = 0; for k: acc += pad[y + (p + 1) // 2 + k] * w[…]; t[p, y] = acc
    for y: out[y] = f(t[y % 2, y // 2])

    ⇒   for y: acc = 0; for k: acc += (0 <= y + k … ? x[y + k …] : 0) * w[…]; out[2 * y] = f(acc)       (p = 0)
        for y: …; out[2 * y + 1] = f(acc)                                                               (p = 1)

The second stage becomes part of the first, with its index expressed in the first one's. The loops over phases, whose
variables stand in divisions, are written out; the padded copy, which every phase reads only a part of, becomes a guard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

from ...tir.expr import Binary, Const, Expr, Var, post_order, substitution
from ...tir.forms import AnyForm, Map, Reduction, buffers_read
from ...tir.kernel import Kernel
from ...tir.stmt import Buffer, Scope, Store
from ...tir.vector_target import VectorTarget
from ..core.affine import loads, simplifier
from ..cost.machine import WRITTEN_OUT
from .padded_copy import inline_padding
from .slice_domain import slice_domain

Limits = dict[Expr, tuple[int, Var, int, int]]
"""Variables that are a quotient: by which number, the variable of the remainder, the extent of the whole, and what is added
to it before it is divided."""


def decompose_subpixels(kernel: Kernel) -> Kernel:
    """The kernel with its phases written straight to where they belong; itself if it has none."""
    forms = kernel.stages
    for n in range(len(forms) - 1):
        phased, gathered = forms[n], forms[n + 1]
        if not isinstance(phased, Reduction) or not isinstance(gathered, Map):
            continue
        joined = _joined(phased, gathered, [*forms[:n], *forms[n + 2 :]])
        made = phases(*joined) if joined is not None else []
        if len(made) < 2:
            continue
        made, before = without_copy(made, forms[:n], forms[n + 2 :])
        return kernel.with_stages([*before, *made, *forms[n + 2 :]])
    return kernel


def without_copy(
    made: list[Reduction], before: Sequence[AnyForm], behind: Sequence[AnyForm]
) -> tuple[list[Reduction], list[AnyForm]]:
    """Reductions, which read what the padded copy in the last stage `before` them is made of, and the stages without it; as they are
    where there is none, or others read it."""
    copy = before[-1] if before else None
    if isinstance(copy, Map) and not _read_by(copy.stores[0].buffer, [*before[:-1], *behind]):
        opened = [inline_padding(r, copy) for r in made]
        found = [r for r in opened if r is not None]
        if len(found) == len(opened):
            return found, [*before[:-1]]
    return made, [*before]


def stores_vectors(kernel: Kernel, target: VectorTarget, blocks: bool) -> bool:
    """True if every reduction of a kernel has a loop whose results lie side by side, or may where results get `blocks`: half a vector
    of them at least. Pixels of a phase do not, and are written one by one where channels are few, or lie far from each other."""
    least = target.lanes(4) // 2

    def is_vector(s: Store, v: Var, extent: int) -> bool:
        at = [n for n, i in enumerate(s.indices) if i is v]
        return extent >= least and bool(at) and (blocks or at[0] == len(s.indices) - 1)

    reductions = [r for r in kernel.stages if isinstance(r, Reduction)]
    return least < 2 or all(any(is_vector(s, v, n) for v, n in r.loops for s in r.stores) for r in reductions)


def _read_by(b: Buffer, forms: Sequence[AnyForm]) -> bool:
    return b in buffers_read(*forms)


def _joined(r: Reduction, m: Map, others: Sequence[AnyForm]) -> tuple[Reduction, Limits] | None:
    """The reduction that stores what the map makes of its result; None where the map's indices cannot be expressed."""
    if len(r.stores) != 1 or len(m.stores) != 1 or r.stores[0].buffer.scope != Scope.GLOBAL:
        return None
    between, store = r.stores[0], m.stores[0]
    if _read_by(between.buffer, others):
        return None
    simplify = simplifier(m.loops)
    reads = [e for e in loads(store.value) if e.source is between.buffer]
    if not reads or any(simplify(a) is not simplify(b) for e in reads for a, b in zip(e.indices, reads[0].indices)):
        return None
    solved = _solved(r, m, between, [simplify(i) for i in reads[0].indices])
    if solved is None:
        return None
    values, limits = solved
    bounds = simplifier(r.loops, r.inner)
    moved = substitution({**values, **dict.fromkeys(reads, between.value)})
    return replace(r, stores=(store.rewritten(lambda e: bounds(moved(e))),)), limits


def _solved(r: Reduction, m: Map, between: Store, indices: Sequence[Expr]) -> tuple[dict[Expr, Expr], Limits] | None:
    """The map's variables in terms of the reduction's, one to one; None if there is no such way."""
    extents: dict[Expr, int] = dict((*r.loops, *m.loops))
    simplify = simplifier(m.loops)
    whole: dict[Expr, Expr] = {}
    quotient: dict[Expr, tuple[Var, int, int]] = {}
    remainder: dict[Expr, tuple[Var, int, int]] = {}
    for own, i in zip(between.indices, indices):
        if isinstance(i, Const) and isinstance(own, Const) and i.value == own.value:
            continue
        if not isinstance(own, Var):
            return None
        if isinstance(i, Var):
            whole[i] = own
        elif isinstance(i, Binary) and i.op in ("floordiv", "floormod") and isinstance(i.b, Const):
            terms, offset = simplify.linear(i.a)
            if len(terms) != 1 or offset < 0 or set(terms.values()) != {1}:
                return None
            (quotient if i.op == "floordiv" else remainder)[next(iter(terms))] = (own, int(i.b.value), offset)
        else:
            return None
    values: dict[Expr, Expr] = {}
    limits: Limits = {}
    used: set[Expr] = set()
    for v, n in m.loops:
        if v in whole:
            values[v] = whole[v]
            used.add(whole[v])
            if extents.get(whole[v]) != n:
                return None
        elif v in quotient and v in remainder:
            (high, c, offset), (low, d, other) = quotient[v], remainder[v]
            if c != d or (offset - other) % c or extents.get(low) != c:
                return None
            if extents.get(high, 0) * c < n + offset:
                return None
            limits[high] = (c, low, n, offset)
            values[v] = high * c + low - offset
            used |= {high, low}
        else:
            return None
    return (values, limits) if used == {v for v, _ in r.loops} else None


def phases(r: Reduction, limits: Limits) -> list[Reduction]:
    """One reduction for each value of the variables that stand in divisions."""
    divided: set[Expr] = {low for _, low, _, _ in limits.values()}
    for e in loads(r.update):
        for i in e.indices:
            for x in post_order(i):
                if isinstance(x, Binary) and x.op in ("floordiv", "floormod"):
                    divided.update(y for y in post_order(x.a) if isinstance(y, Var))
    phases = [loop for loop in r.loops if loop[0] in divided]
    count = 1
    for _, n in phases:
        count *= n
    if not phases or count > WRITTEN_OUT or any(low not in divided for _, low, _, _ in limits.values()):
        return []
    others = [loop for loop in (*r.loops, *r.inner) if loop[0] not in divided]
    reductions: list[Reduction] = []
    for numbers in product(*(range(n) for _, n in phases)):
        fixed = {v: n for (v, _), n in zip(phases, numbers)}
        reductions.append(slice_domain(r, {v: span_in_phase(v, n, limits, fixed) for v, n in others}, fixed))
    return reductions


def span_in_phase(v: Var, extent: int, limits: Limits, fixed: Mapping[Var, int]) -> tuple[int, int]:
    """The first step of a loop in a phase, and the one past the last."""
    if v not in limits:
        return 0, extent
    c, low, n, offset = limits[v]
    return max(0, -((fixed[low] - offset) // c)), -(-(n + offset - fixed[low]) // c)
