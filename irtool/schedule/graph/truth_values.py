"""`any` and `all` of truth values as the largest and the smallest integer, which vectors can compute.

acc = false; for k: acc = acc || x[k]          ⇒      acc = 0; for k: acc = max(acc, uint8(x[k]))          acc != 0
acc = false; for k: acc = acc || x[k] < y[k]   ⇒      acc = 0; for k: acc = max(acc, int32(x[k] < y[k]))   acc != 0

The integer is as wide as the compared numbers: a comparison of vectors gives masks of their width, and to narrow each of them costs more
than the comparison.
"""

from __future__ import annotations

from dataclasses import replace

from ...tir.dtypes import itemsize
from ...tir.expr import Binary, Expr, Load, as_bool, cast, maximum, minimum, post_order
from ...tir.forms import AnyForm, Reduction, rewrite_form

_EXTREMES = {"or": maximum, "and": minimum}


def reduce_as_integers(form: AnyForm) -> AnyForm:
    """The form with an integer as its truth value; other forms unchanged."""
    if not isinstance(form, Reduction) or form.acc.dtype != "bool":
        return form
    update = form.update
    if not isinstance(update, Binary) or update.op not in _EXTREMES:
        return form
    condition = _other_side(update, form)
    if condition is None:
        return form
    dtype = "int32" if _bytes_compared(condition) >= 4 else "uint8"
    acc = form.acc.replace(dtype=dtype)
    integer = Load(acc, ())

    def read_integer(e: Expr) -> Expr:
        return as_bool(integer) if isinstance(e, Load) and e.source is form.acc else e

    read = rewrite_form(replace(form, update=integer), read_integer)
    assert isinstance(read, Reduction)
    extreme = _EXTREMES[update.op](integer, cast(condition, dtype))
    return replace(read, acc=acc, init=cast(form.init, dtype), update=extreme)


def _bytes_compared(condition: Expr) -> int:
    """The size of the narrowest element that the condition reads; 1 if it reads none."""
    return min((itemsize(e.dtype) for e in post_order(condition) if isinstance(e, Load)), default=1)


def _other_side(update: Binary, form: Reduction) -> Expr | None:
    """The operand beside the accumulator; None without one, or if it reads the accumulator, too."""
    sides = [e for e in (update.a, update.b) if not (isinstance(e, Load) and e.source is form.acc)]
    if len(sides) != 1 or any(isinstance(e, Load) and e.source is form.acc for e in post_order(sides[0])):
        return None
    return sides[0]
