"""`any` and `all` of truth values as the largest and the smallest byte, which vectors can compute.

acc = false; for k: acc = acc || x[k]      ⇒      acc = 0; for k: acc = max(acc, uint8(x[k]))      acc != 0
"""

from __future__ import annotations

from dataclasses import replace

from ...tir.expr import Binary, Expr, Load, as_bool, cast, maximum, minimum, post_order
from ...tir.forms import AnyForm, Reduction, rewrite_form

_EXTREMES = {"or": maximum, "and": minimum}


def reduce_as_bytes(form: AnyForm) -> AnyForm:
    """The form with a byte as its truth value; other forms unchanged."""
    if not isinstance(form, Reduction) or form.acc.dtype != "bool":
        return form
    update = form.update
    if not isinstance(update, Binary) or update.op not in _EXTREMES:
        return form
    condition = _other_side(update, form)
    if condition is None:
        return form
    acc = form.acc.replace(dtype="uint8")
    byte = Load(acc, ())

    def read_byte(e: Expr) -> Expr:
        return as_bool(byte) if isinstance(e, Load) and e.source is form.acc else e

    read = rewrite_form(replace(form, update=byte), read_byte)
    assert isinstance(read, Reduction)
    extreme = _EXTREMES[update.op](byte, cast(condition, "uint8"))
    return replace(read, acc=acc, init=cast(form.init, "uint8"), update=extreme)


def _other_side(update: Binary, form: Reduction) -> Expr | None:
    """The operand beside the accumulator; None without one, or if it reads the accumulator, too."""
    sides = [e for e in (update.a, update.b) if not (isinstance(e, Load) and e.source is form.acc)]
    if len(sides) != 1 or any(isinstance(e, Load) and e.source is form.acc for e in post_order(sides[0])):
        return None
    return sides[0]
