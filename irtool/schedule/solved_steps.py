"""Windows of which one step lies in the data, wherever they stand: the step is computed, and has no loop.

    for y in 0 … 3: for k in 0 … 3: acc += (y + k == 3 ? x[y + k - 3] : 0) * w[3 - k]        ⇒    for y in 0 … 3: acc += x[0] * w[y]

Data with one element along an axis have such windows: the first layer of a generator that begins with a transposed convolution of a
single pixel, or a convolution whose image has shrunk to one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..tir.expr import Expr, Load, Var, rewrite
from ..tir.forms import Loop, Reduction
from ..tir.simplify import Simplifier
from ..tir.stmt import Buffer, Store
from .affine import simplifier


def solve_steps(r: Reduction) -> Reduction:
    """The reduction without the loops over steps that its guards leave one value; itself if there are none. A last loop stays, of one
    step. Guards that are about other steps stay as well."""
    while (found := _solution(r)) is not None:
        r = _solved(r, *found)
    return r


def _solution(r: Reduction) -> tuple[Var, Expr] | None:
    """A loop of the sum with more than one step, and its only value for which the guards hold."""
    simplify = simplifier(r.loops, r.inner)
    for step, extent in r.inner:
        if extent == 1:
            continue
        for low in r.guards:
            slope = simplify.linear(low)[0].get(step, 0)
            if abs(slope) != 1 or not any(_is_zero(simplify, low + high) for high in r.guards):
                continue
            value = simplify(low * int(-slope) + step)  # without the step, and zero where the guard is
            first, last = simplify.range(value)
            if first >= 0 and last < extent:
                return step, value
    return None


def _is_zero(simplify: Simplifier, e: Expr) -> bool:
    terms, rest = simplify.linear(e)
    return not terms and rest == 0


def _solved(r: Reduction, step: Var, value: Expr) -> Reduction:
    """The reduction with this value for a step."""
    kept = [x for x in r.inner if x[0] is not step] or [(step, 1)]
    fresh = {v: Var(v.name, v.dtype) for v, _ in (*r.loops, *kept)}
    simplify = Simplifier({fresh[v]: (0, n - 1) for v, n in (*r.loops, *kept)})
    acc = Buffer(r.acc.name, (), r.acc.dtype, r.acc.scope)
    memo: dict[Expr, Expr] = dict(fresh.items())
    memo[step] = rewrite(value, lambda x: x, dict(memo))

    def own(x: Expr) -> Expr:
        return Load(acc, ()) if isinstance(x, Load) and x.source is r.acc else x

    def here(e: Expr) -> Expr:
        return simplify(rewrite(e, own, dict(memo)))

    def loops(old: Sequence[Loop]) -> tuple[Loop, ...]:
        return tuple((fresh[v], n) for v, n in old)

    guards = [here(g) for g in r.guards]
    return replace(
        r,
        loops=loops(r.loops),
        acc=acc,
        init=here(r.init),
        inner=loops(kept),
        update=here(r.update),
        stores=tuple(Store(s.buffer, [here(i) for i in s.indices], here(s.value)) for s in r.stores),
        guards=tuple(g for g in guards if simplify.range(g)[0] < 0),
    )
