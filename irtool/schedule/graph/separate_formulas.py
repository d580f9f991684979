"""Expensive formulas of sums of rows, computed afterwards in vectors.

    for i: acc = 0; for k: acc += x[i, k]; y[i] = exp(acc)    ⇒    for i: acc = 0; for k: acc += x[i, k]; y[i] = acc
                                                                    for i: y[i] = exp(y[i])

A sum along vectors gives one number at a time; a function of it would be computed for one number at a time, too.
"""

from __future__ import annotations

from ...tir import dtypes
from ...tir.expr import Call, Expr, Load, post_order, rewrite
from ...tir.forms import AnyForm, Map, Reduction
from ...tir.kernel import Kernel
from ...tir.stmt import Store
from ...tir.vector_target import VectorTarget
from ..core.affine import simplifier, stride
from ..cost.machine import TOGETHER
from ..strategies.base import Stage
from ..strategies.row_reduction.strategy import is_preferred


def separate_formulas(kernel: Kernel, target: VectorTarget) -> Kernel:
    """The kernel with its formula as a stage of its own; itself if it has another form."""
    if len(kernel.stages) != 1:
        return kernel
    made = _separated(kernel.stages[0], target)
    return kernel if made is None else kernel.with_stages(made)


def is_separated(stages: tuple[AnyForm, ...]) -> bool:
    """True if the second of two stages computes its results from those of the first, in their places."""
    if len(stages) != 2:
        return False
    first, second = stages
    if not isinstance(first, Reduction) or not isinstance(second, Map):
        return False
    return [s.buffer for s in first.stores] == [s.buffer for s in second.stores]


def _separated(r: AnyForm, target: VectorTarget) -> tuple[Reduction, Map] | None:
    if not isinstance(r, Reduction) or len(r.stores) != 1 or r.guards:
        return None
    store = r.stores[0]
    if store.buffer.dtype != r.acc.dtype or store.value.dtype != r.acc.dtype:
        return None
    if not any(isinstance(e, Call) for e in post_order(store.value)):
        return None
    simplify = simplifier(r.loops)
    place = store.buffer.offset(store.indices)
    least = TOGETHER * target.lanes(dtypes.itemsize(r.acc.dtype))
    if not any(n >= least and stride(simplify, place, v) == 1 for v, n in r.loops):
        return None
    if not is_preferred(Stage(r, target)):
        return None
    plain = Store(store.buffer, store.indices, r.acc[()])

    def stored(e: Expr) -> Expr:
        return Load(store.buffer, store.indices) if isinstance(e, Load) and e.source is r.acc else e

    formula = Store(store.buffer, store.indices, rewrite(store.value, stored))
    return Reduction(r.loops, r.acc, r.init, r.inner, r.update, (plain,)), Map(r.loops, (formula,))
