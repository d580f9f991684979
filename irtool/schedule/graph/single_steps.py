"""Reductions of a single step as maps: outer products, and convolutions of one channel by windows of one element.

    for i, j: acc = 0; for k in 1: acc += x[i, k] * y[k, j]; out[i, j] = f(acc)      ⇒      for i, j: out[i, j] = f(0 + x[i, 0] * y[0, j])

A tile of registers saves reads of operands in every step of a sum. Without steps, it only stores results in pieces of rows.
"""

from __future__ import annotations

from ...symbolic_int import is_known
from ...tir.expr import Expr, Load, const, substitute
from ...tir.forms import AnyForm, Map, Reduction
from ...tir.walk import rewrite


def map_single_steps(form: AnyForm) -> AnyForm:
    """The reduction as a map, if each of its loops has one step, and no guard can skip that; other forms unchanged."""
    if not isinstance(form, Reduction) or form.guards or any(not _is_one(n) for _, n in form.inner):
        return form
    step = substitute(form.update, {v: const(0) for v, _ in form.inner})
    total = _with_total(step, form, form.init)
    return Map(form.loops, tuple(s.rewritten(lambda e: _with_total(e, form, total)) for s in form.stores))


def _is_one(extent: int) -> bool:
    return is_known(extent) and extent == 1


def _with_total(e: Expr, form: Reduction, total: Expr) -> Expr:
    """The expression with this value in place of the accumulator."""
    return rewrite(e, lambda x: total if isinstance(x, Load) and x.source is form.acc else x)
