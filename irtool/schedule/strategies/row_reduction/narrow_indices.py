"""Positions of an arg-max in the number of bits of the elements, so that vectors hold as many of both; in 16 bits if 8 are too few.

i: int32, m: int8:  (i, m) = x[k] > m ? (k, x[k]) : (i, m); out = i

⇒   i: uint8, m: int8:  (i, m) = x[k] > m ? (uint8(k), x[k]) : (i, m); out = int32(i)      (k < 256)
"""

from __future__ import annotations

from dataclasses import replace

from ....tir import dtypes
from ....tir.expr import Cast, Const, Expr, Load, Select, cast, const, rewrite
from ....tir.forms import TupleReduction
from ....tir.simplify import Simplifier
from ....tir.stmt import Buffer, Store
from ...core.affine import simplifier


def narrow_indices(form: TupleReduction) -> TupleReduction:
    """The reduction, with its steps in order, with accumulators of fewer bits if they hold only few steps; itself if no
    accumulator does.

    Parts of the narrowed reduction cannot be combined.
    """
    order = form.in_order
    least = min(dtypes.itemsize(b.dtype) for b in form.accs)
    if order is None or least == 4 or any(b.dtype == "bool" for b in form.accs):
        return form
    simplify = simplifier(form.loops, form.inner)
    chosen: dict[Buffer, Buffer] = {}
    for acc, init, update in zip(form.accs, order.inits, order.updates, strict=True):
        widths = [n for n in (1, 2) if least <= n < dtypes.itemsize(acc.dtype)] if dtypes.is_int(acc.dtype) else []
        bits = next((8 * n for n in widths if _holds(acc, init, update, 8 * n, simplify)), 0)
        if bits:
            chosen[acc] = acc.replace(dtype=f"uint{bits}")
    if not chosen:
        return form
    memo: dict[Expr, Expr] = {}

    def change(e: Expr) -> Expr:
        if isinstance(e, Load) and e.source in chosen:
            return cast(Load(chosen[e.source], ()), e.dtype)  # type: ignore[index]  # a buffer, as it is one of these
        return e

    def narrowed(acc: Buffer, e: Expr) -> Expr:
        return _as(rewrite(e, change, memo), chosen[acc].dtype) if acc in chosen else rewrite(e, change, memo)

    stores = tuple(Store(s.buffer, s.indices, rewrite(s.value, change, memo)) for s in form.stores)
    inits, updates = (
        tuple(narrowed(b, e) for b, e in zip(form.accs, values, strict=True)) for values in (order.inits, order.updates)
    )
    accs = tuple(chosen.get(b, b) for b in form.accs)
    return replace(form, accs=accs, stores=stores, in_order=replace(order, inits=inits, updates=updates))


def _holds(acc: Buffer, init: Expr, update: Expr, bits: int, simplify: Simplifier) -> bool:
    """True if an accumulator only has values that an unsigned number of `bits` bits holds."""
    if not isinstance(init, Const) or init.value < 0 or not isinstance(update, Select):
        return False
    values = [e for e in (update.then, update.other) if not (isinstance(e, Load) and e.source is acc)]
    ranges = [simplify.range(e) for e in values]
    return len(values) == 1 and all(low >= 0 and high < 1 << bits for low, high in ranges)


def _as(e: Expr, dtype: str) -> Expr:
    """A number as one of `dtype`, without a detour through a wider one."""
    if isinstance(e, Select):
        return Select(e.cond, _as(e.then, dtype), _as(e.other, dtype), e.lazy)
    if isinstance(e, Cast) and e.value.dtype == dtype:
        return e.value
    if isinstance(e, Const):
        return const(e.value, dtype)
    return cast(e, dtype)
