"""Windows of different sizes along an axis with few results: adaptive pooling.

    for i in 7: for k where i*33/7 + k < (i*33 + 4)/7 + 5: acc = max(acc, in[i*33/7 + k, x])

    ⇒   for k in 5: acc = max(acc, in[k, x])                       (i = 0)
        for k in 6: acc = max(acc, in[k + 4, x])                   (i = 1)
        …

Each of the results has a nest of its own, whose window has a known beginning and end, and which is scheduled as any reduction.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...tir.expr import Const, Expr, Load, Var, const, post_order, rewrite
from ...tir.forms import Loop, TupleReduction
from ...tir.simplify import Simplifier
from ...tir.stmt import Buffer, Stmt, Store, seq
from ..forms import Reduction
from ..primitives import step
from .base import Candidate, Stage, Strategy, choose_strategy, strategy

_MOST = 16
"""Results along the axis, each of which is written out."""


@strategy("uneven_windows")
class UnevenWindows(Strategy):
    """One reduction for each step of the axis along which windows differ."""

    plevel = 20

    def choose(self, stage: Stage) -> Candidate | None:
        form = stage.form
        if not isinstance(form, TupleReduction) or len(form.accs) != 1 or form.condition is None:
            return None
        along = _axis(form, form.condition)
        parts = _reductions(form, form.condition, along) if along is not None else None
        if along is None or parts is None:
            return None
        return Candidate(1, f"windows along {along[0].name}, one after the other", parts)

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        made = []
        for n, r in enumerate(candidate.plan):
            inner = stage.inner(r, serial=stage.serial)
            chosen, offer = choose_strategy(inner)
            with step(f"result {n}: {chosen.name} — {offer.reason}"):
                made.append(chosen.apply(inner, offer))
        return seq(made)


def _axis(form: TupleReduction, condition: Expr) -> Loop | None:
    """The one axis of results that the condition depends on, if it is short and one loop is over the windows."""
    used = [x for x in form.loops if any(e is x[0] for e in post_order(condition))]
    return used[0] if len(used) == 1 and used[0][1] <= _MOST and len(form.inner) == 1 else None


def _reductions(form: TupleReduction, condition: Expr, along: Loop) -> list[Reduction] | None:
    """The reductions; None where a window is empty, or does not begin with the first step."""
    (axis, results), ((step, steps),) = along, form.inner
    made = []
    for n in range(results):
        sizes = _window(condition, axis, n, step, steps)
        if not sizes:
            return None
        made.append(_at(form, {axis: const(n, axis.dtype)}, axis, (step, sizes)))
    return made


def _window(condition: Expr, axis: Var, n: int, step: Var, steps: int) -> int:
    """The number of steps for which the condition holds, 0 where that is not known."""
    simplify = Simplifier({})
    held = []
    for k in range(steps):
        memo: dict[Expr, Expr] = {axis: const(n, axis.dtype), step: const(k, step.dtype)}
        found = simplify(rewrite(condition, lambda e: e, memo))
        if not isinstance(found, Const):
            return 0
        held.append(bool(found.value))
    return sum(held) if held == sorted(held, reverse=True) else 0


def _at(form: TupleReduction, values: dict[Expr, Expr], axis: Var, inner: Loop) -> Reduction:
    """The reduction of one result along the axis, with loops of its own."""
    kept = [x for x in form.loops if x[0] is not axis]
    fresh = [(x, Var(x.name, x.dtype), n) for x, n in (*kept, inner)]
    simplify = Simplifier({f: (0, n - 1) for _, f, n in fresh})
    (acc,) = form.accs
    own = Buffer(acc.name, (), acc.dtype, acc.scope)
    memo: dict[Expr, Expr] = {**values, **{x: f for x, f, _ in fresh}}

    def here(e: Expr) -> Expr:
        return simplify(
            rewrite(e, lambda x: Load(own, ()) if isinstance(x, Load) and x.source is acc else x, dict(memo))
        )

    loops: Sequence[Loop] = [(f, n) for _, f, n in fresh]
    stores = tuple(Store(s.buffer, [here(i) for i in s.indices], here(s.value)) for s in form.stores)
    return Reduction(tuple(loops[:-1]), own, here(form.inits[0]), (loops[-1],), here(form.updates[0]), stores)
