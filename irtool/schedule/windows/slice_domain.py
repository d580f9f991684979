"""A slice of a form's domain: evenly spaced steps of its loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from ...tir.expr import Expr, Load, Var, const, rewrite, substitution
from ...tir.forms import Loop, Map, Reduction
from ...tir.simplify import Simplifier
from ...tir.windows import renamed_taps

AnyDomain = TypeVar("AnyDomain", Map, Reduction)


def slice_domain(
    form: AnyDomain,
    spans: Mapping[Var, range],
    fixed: Mapping[Var, int | Expr],
    guards: Sequence[Expr] = (),
) -> AnyDomain:
    """The form over the steps of its loops in `spans`, and over all steps of other loops.

    Variables in `fixed` have a constant value, or one computed from others, and no loop. Variables and the accumulator are fresh;
    among a reduction's guards, those in `guards` stay.
    """
    span = {v: spans.get(v, range(n)) for v, n in (*form.loops, *form.inner) if v not in fixed}
    fresh = {v: Var(v.name, v.dtype) for v in span}
    simplify = Simplifier({fresh[v]: (0, len(steps) - 1) for v, steps in span.items()})
    memo: dict[Expr, Expr] = {v: fresh[v] * steps.step + steps.start for v, steps in span.items()}
    begun = substitution(memo)
    memo.update((v, begun(e) if isinstance(e, Expr) else const(e, v.dtype)) for v, e in fixed.items())

    def loops(old: Sequence[Loop]) -> tuple[Loop, ...]:
        return tuple((fresh[v], len(span[v])) for v, _ in old if v in span)

    if isinstance(form, Map):
        moved = substitution(memo)
        return Map(loops(form.loops), tuple(s.rewritten(lambda e: simplify(moved(e))) for s in form.stores))  # type: ignore[return-value]  # a map stays one
    old, acc = form.acc, form.acc.replace()

    def own(x: Expr) -> Expr:
        return Load(acc, ()) if isinstance(x, Load) and x.source is old else x

    def here(e: Expr) -> Expr:
        return simplify(rewrite(e, own, memo))

    stores = tuple(s.rewritten(here) for s in form.stores)
    remaining_guards = tuple(here(g) for g in guards)
    inner = loops(form.inner)
    windows = renamed_taps(form.windows, memo, inner)
    return Reduction(
        loops(form.loops), acc, here(form.init), inner, here(form.update), stores, remaining_guards, windows=windows
    )
