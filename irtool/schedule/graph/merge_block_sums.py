"""Sums of integers in blocks, whose results a sum of floats reads with a factor for each block, as one sum over blocks and their steps.

    for n, b: part[n, b] = sum of x[b, j] * w[n, b, j] over j          (a stage)
    for n: y[n] = sum of float(part[n, b] - c[b]) * s[n, b] over b     (a stage)

⇒   for n: y[n] = sum of float(x[b, j] * w[n, b, j] + (-c[b] if j == 0 else 0)) * s[n, b] over b, j

The parts would take memory for each result and block, more than the weights of many rows. `HoistFactors` makes of the loop over a block
a sum of integers in registers, which begins with the correction `-c`: the conversion is that of the whole part, as before.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ...symbolic_int import bound
from ...tir.expr import (
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Select,
    Var,
    const,
    equal,
    logical_and,
    post_order,
    rewrite,
    substitute,
)
from ...tir.forms import Reduction, Steps, buffers_read, stores_of
from ...tir.kernel import Kernel
from ...tir.stmt import Buffer
from ...tir.vector_target import VectorTarget
from ..core.affine import summand
from ..core.hoist_factors import largest_product


def merge_block_sums(k: Kernel, target: VectorTarget) -> Kernel:
    """The kernel with such stages merged where results fill vectors; itself if it has none."""
    if k.finished:
        return k
    for n, whole in enumerate(k.stages):
        for part in k.stages[:n]:
            if not isinstance(part, Reduction) or not isinstance(whole, Reduction) or not _is_part(k, part, whole):
                continue
            merged = _merged(part, whole)
            if merged is None or max((bound(n) for _, n in merged.loops), default=1) < target.lanes(4):
                continue
            stages = [merged if s is whole else s for s in k.stages if s is not part]
            temporaries = [b for b in k.temporaries if b is not part.stores[0].buffer]
            return merge_block_sums(k.with_stages(stages, temporaries=temporaries), target)
    return k


def _is_part(k: Kernel, part: Reduction, whole: Reduction) -> bool:
    """True if a sum of integers is stored as it is, in a temporary that the other sum alone reads."""
    if (
        part.acc.dtype != "int32"
        or whole.acc.dtype != "float32"
        or part.guards
        or whole.guards
        or len(part.stores) != 1
    ):
        return False
    store = part.stores[0]
    if store.buffer not in k.temporaries or not _is_zero(part.init) or not _reads(store.value, part.acc):
        return False
    others = [s for s in k.stages if s is not whole]
    if any(isinstance(s, Steps) for s in k.stages) or store.buffer in buffers_read(*others):
        return False
    writers = [s for s in k.stages if any(x.buffer is store.buffer for x in stores_of(s))]
    return writers == [part] and sum(_reads(e, store.buffer) for e in post_order(whole.update)) == 1


def _is_zero(e: Expr) -> bool:
    return isinstance(e, Const) and e.value == 0


def _reads(e: Expr, b: Buffer) -> bool:
    return isinstance(e, Load) and e.source is b


def _merged(part: Reduction, whole: Reduction) -> Reduction | None:
    """The sum over blocks and their steps; None if the results of the part are read otherwise than converted with a correction."""
    stored = part.stores[0]
    term, added = summand(part), summand(whole)
    if term is None or added is None:
        return None
    most = largest_product(term) * bound(math.prod(n for _, n in part.inner))
    if not 0 < most < 1 << 31:
        return None
    result = next(e for e in post_order(added) if _reads(e, stored.buffer))
    converted = next((e for e in post_order(added) if isinstance(e, Cast) and _is_corrected(e.value, result)), None)
    if converted is None or converted.dtype != whole.acc.dtype or not isinstance(result, Load):
        return None
    values: dict[Expr, Expr] = {}
    for own, place in zip(stored.indices, result.indices, strict=True):
        if isinstance(own, Var):
            values[own] = place
        elif own is not place and not (_is_zero(own) and _is_zero(place)):
            return None
    if any(v not in values for v, n in part.loops if n != 1):
        return None
    product: Expr = substitute(term, {**{v: const(0, v.dtype) for v, _ in part.loops}, **values})
    correction = _correction(converted.value, result)
    if correction is not None:
        first: Expr | None = None
        for v, n in part.inner:
            if n != 1:
                is_zero = equal(v, const(0, v.dtype))
                first = is_zero if first is None else logical_and(first, is_zero)
        once = correction if first is None else Select(first, correction, const(0), lazy=False)
        product = Binary("+", product, once, "int32")
    changed = rewrite(added, lambda e: Cast(product, converted.dtype) if e is converted else e)
    update = Binary("+", whole.acc.element(), changed, whole.acc.dtype)
    return replace(whole, inner=(*whole.inner, *part.inner), update=update)


def _is_corrected(e: Expr, result: Expr) -> bool:
    """True for the result of a part, or its sum with, or its difference from, something else."""
    return e is result or (
        isinstance(e, Binary) and ((e.op in "+-" and e.a is result) or (e.op == "+" and e.b is result))
    )


def _correction(e: Expr, result: Expr) -> Expr | None:
    if not isinstance(e, Binary):
        return None
    other = e.b if e.a is result else e.a
    return Binary("-", const(0), other, "int32") if e.op == "-" else other
