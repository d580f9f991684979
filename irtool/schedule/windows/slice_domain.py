"""A part of a reduction: some of the steps of its loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...tir.expr import Expr, Load, Var, const, rewrite, substitution
from ...tir.forms import Loop, Reduction
from ...tir.simplify import Simplifier
from ...tir.windows import renamed_taps


def slice_domain(
    r: Reduction,
    spans: Mapping[Var, tuple[int, int]],
    fixed: Mapping[Var, int | Expr],
    guards: Sequence[Expr] = (),
) -> Reduction:
    """The reduction over the steps of its loops in `spans`, each the first and the one past the last; the other loops are whole.

    Variables in `fixed` are numbers in the result, or what is computed of others, and have no loop. Variables and the accumulator are
    fresh; of the guards, those in `guards` stay.
    """
    extents = dict((*r.loops, *r.inner))
    span = {v: spans.get(v, (0, n)) for v, n in extents.items() if v not in fixed}
    fresh = {v: Var(v.name) for v in span}
    simplify = Simplifier({fresh[v]: (0, end - first - 1) for v, (first, end) in span.items()})
    acc = r.acc.replace()
    memo: dict[Expr, Expr] = {v: fresh[v] + first for v, (first, _) in span.items()}
    begun = substitution(memo)
    memo.update((v, begun(e) if isinstance(e, Expr) else const(e)) for v, e in fixed.items())

    def own(x: Expr) -> Expr:
        return Load(acc, ()) if isinstance(x, Load) and x.source is r.acc else x

    def here(e: Expr) -> Expr:
        return simplify(rewrite(e, own, memo))

    def loops(old: Sequence[Loop]) -> tuple[Loop, ...]:
        return tuple((fresh[v], span[v][1] - span[v][0]) for v, _ in old if v in span)

    stores = tuple(s.rewritten(here) for s in r.stores)
    kept = tuple(here(g) for g in guards)
    inner = loops(r.inner)
    windows = renamed_taps(r.windows, memo, inner)
    return Reduction(loops(r.loops), acc, here(r.init), inner, here(r.update), stores, kept, windows=windows)
