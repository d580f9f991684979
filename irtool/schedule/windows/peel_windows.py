"""Windows of different sizes along an axis: each becomes a reduction of its own, whose window has a known beginning and end."""

from __future__ import annotations

from collections.abc import Sequence

from ...symbolic_int import is_known
from ...tir.expr import Const, Expr, Load, Var, const, post_order, rewrite, substitute
from ...tir.forms import AnyForm, Loop, TupleReduction
from ...tir.simplify import Simplifier
from ...tir.stmt import Buffer, Store
from ..core.affine import simplifier
from ..core.forms import Map, Reduction
from .slice_domain import Span, slice_domain


def axis_of_windows(form: AnyForm) -> Loop | None:
    """The axis of results along which the windows of a reduction differ; None unless there is exactly one, of a known extent."""
    if not isinstance(form, TupleReduction) or len(form.accs) != 1 or form.condition is None or len(form.inner) != 1:
        return None
    used = [x for x in form.loops if any(e is x[0] for e in post_order(form.condition))]
    return used[0] if len(used) == 1 and all(is_known(n) for _, n in (*used, *form.inner)) else None


def peel_windows(form: TupleReduction, along: Loop) -> list[Reduction] | None:
    """A reduction for each step of an axis; None if a window is empty, or does not begin with the first step."""
    assert form.condition is not None
    (axis, results), ((step, steps),) = along, form.inner
    (acc,), (init,), (update,) = form.accs, form.inits, form.updates
    r = Reduction(form.loops, acc, init, form.inner, update, form.stores)
    reductions = []
    for n in range(results):
        size = _window(form.condition, axis, n, step, steps)
        if not size:
            return None
        reductions.append(slice_domain(r, {step: Span(0, size)}, {axis: n}))
    return reductions


def _window(condition: Expr, axis: Var, n: int, step: Var, steps: int) -> int:
    """The number of steps for which the condition holds; 0 if it is not known."""
    simplify = Simplifier({})
    verdicts = []
    for k in range(steps):
        memo: dict[Expr, Expr] = {axis: const(n, axis.dtype), step: const(k, step.dtype)}
        decided = simplify(substitute(condition, memo))
        if not isinstance(decided, Const):
            return 0
        verdicts.append(bool(decided.value))
    return sum(verdicts) if verdicts == sorted(verdicts, reverse=True) else 0


def in_one_map(parts: Sequence[Reduction]) -> Map:
    """The results of several reductions over equal loops as expressions; each step stores one result of each."""
    first = parts[0]
    simplify = simplifier(first.loops)
    stores = []
    for r in parts:
        axes: dict[Expr, Expr] = {v: own for (v, _), (own, _) in zip(r.loops, first.loops, strict=True)}
        (k, extent), value = r.inner[0], r.init
        for n in range(extent):
            value = _with(value, r.update, r.acc, {**axes, k: const(n, k.dtype)})
        for s in r.stores:
            indices = [simplify(substitute(i, axes)) for i in s.indices]
            stores.append(Store(s.buffer, indices, simplify(_with(value, s.value, r.acc, axes))))
    return Map(first.loops, tuple(stores))


def _with(value: Expr, e: Expr, acc: Buffer, positions: dict[Expr, Expr]) -> Expr:
    """An expression with a value in place of the accumulator."""
    return rewrite(e, lambda x: value if isinstance(x, Load) and x.source is acc else x, dict(positions))
