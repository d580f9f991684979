"""A slice of a form's domain: evenly spaced steps of its loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ...tir.expr import Expr, Load, Var, const, rewrite, substitution
from ...tir.forms import Loop, Map, Reduction
from ...tir.simplify import Simplifier
from ...tir.windows import renamed_taps

AnyDomain = TypeVar("AnyDomain", Map, Reduction)


@dataclass(frozen=True)
class Span:
    """`count` steps of a loop, evenly spaced by `step`, from `first` on. Python's `range` would drop the formula of a length."""

    first: int
    count: int
    step: int = 1

    @staticmethod
    def between(first: int, end: int, step: int = 1) -> Span:
        """The steps from `first` on that are less than `end`, which is not less than `first`."""
        return Span(first, -(-(end - first) // step), step)

    @property
    def end(self) -> int:
        """The step behind the last one."""
        return self.first + self.count * self.step


def slice_domain(
    form: AnyDomain,
    spans: Mapping[Var, Span],
    fixed: Mapping[Var, int | Expr],
    guards: Sequence[Expr] = (),
) -> AnyDomain:
    """The form over the steps of its loops in `spans`, and over all steps of other loops.

    Variables in `fixed` have a constant value, or one computed from others, and no loop. Variables and the accumulator are fresh;
    among a reduction's guards, those in `guards` stay.
    """
    span = {v: spans.get(v, Span(0, n)) for v, n in (*form.loops, *form.inner) if v not in fixed}
    fresh = {v: Var(v.name, v.dtype) for v in span}
    simplify = Simplifier({fresh[v]: (0, steps.count - 1) for v, steps in span.items()})
    memo: dict[Expr, Expr] = {v: fresh[v] * steps.step + steps.first for v, steps in span.items()}
    begun = substitution(memo)
    memo.update((v, begun(e) if isinstance(e, Expr) else const(e, v.dtype)) for v, e in fixed.items())

    def loops(old: Sequence[Loop]) -> tuple[Loop, ...]:
        return tuple((fresh[v], span[v].count) for v, _ in old if v in span)

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
