"""Forms with other axes than those of lowering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from ...tir.expr import Const, Expr, Load, rewrite, substitution
from ...tir.forms import Loop, Map, Reduction
from ...tir.simplify import Simplifier
from ...tir.stmt import For, Stmt, Store, pre_order
from ...tir.windows import renamed_taps

__all__ = ["Form", "Loop", "Map", "Reduction", "simplifier", "stores_for", "substituted"]

Form = TypeVar("Form", Map, Reduction)


def substituted(
    form: Form, values: Mapping[Expr, Expr], loops: Sequence[Loop], inner: Sequence[Loop] | None = None
) -> Form:
    """The form with `values` in place of variables, over other `loops` of results and, if given, other `inner` loops.

    The expressions are simplified with the ranges of all loops.
    """
    inside: Sequence[Loop] = form.inner if inner is None else inner
    simplify = Simplifier({v: (0, n - 1) for v, n in (*loops, *inside)})
    values_of = substitution(values)

    def change(e: Expr) -> Expr:
        return simplify(values_of(e))

    stores = tuple(s.rewritten(change) for s in form.stores)
    if isinstance(form, Map):
        return replace(form, loops=tuple(loops), stores=stores)
    init, update, guards = change(form.init), change(form.update), tuple(map(change, form.guards))
    windows = renamed_taps(form.windows, values, inside)
    return replace(
        form,
        loops=tuple(loops),
        inner=tuple(inside),
        stores=stores,
        init=init,
        update=update,
        guards=guards,
        windows=windows,
    )


def stores_for(r: Reduction, result: Expr, indices: Mapping[Expr, Expr]) -> tuple[Store, ...]:
    """The stores of a reduction for one result: `result` in place of the accumulator, `indices` in place of its axes."""

    def change(e: Expr) -> Expr:
        return rewrite(e, lambda x: result if isinstance(x, Load) and x.source is r.acc else x, dict(indices))

    return tuple(s.rewritten(change) for s in r.stores)


def simplifier(*statements: Stmt) -> Simplifier:
    """A simplifier that knows the ranges of all loops in the statements."""
    bounds: dict[Expr, tuple[float, float]] = {}
    for root in statements:
        for s in pre_order(root):
            if isinstance(s, For) and isinstance(s.extent, Const):
                bounds[s.var] = (0, s.extent.int_value - 1)
    return Simplifier(bounds)
