"""Reductions of a single step as maps: outer products, and convolutions of one channel by windows of one element.

    for i, j: acc = 0; for k in 1: acc += x[i, k] * y[k, j]; out[i, j] = f(acc)      ⇒      for i, j: out[i, j] = f(0 + x[i, 0] * y[0, j])

A tile of registers saves reads of operands in every step of a sum. Without steps, it only stores results in pieces of rows.
"""

from __future__ import annotations

from ...symbolic_int import is_known
from ...tir.expr import Expr, const, substitute
from ...tir.forms import AnyForm, Map, Reduction, rewrite_loads


def map_single_steps(form: AnyForm) -> AnyForm:
    """The reduction as a map, if each of its loops has one step, and no guard can skip that; other forms unchanged."""
    if not isinstance(form, Reduction) or form.guards or any(not _is_one(n) for _, n in form.inner):
        return form
    step = _with_total(form, form.init).update
    total = substitute(step, {v: const(0) for v, _ in form.inner})
    return Map(form.loops, _with_total(form, total).stores)


def _is_one(extent: int) -> bool:
    return is_known(extent) and extent == 1


def _with_total(form: Reduction, total: Expr) -> Reduction:
    """The reduction with this value in place of its accumulator."""
    rewritten = rewrite_loads(form, lambda e: total if e.source is form.acc else e)
    assert isinstance(rewritten, Reduction)
    return rewritten
