"""The softmax between the products of an attention: its stages, and its exponentials without subnormal numbers.

A mask such as -100 gives exponentials of 1e-44, with which processors compute a hundred times as slowly. Beside the largest
exponential of a row, which is 1, they change neither the row's sum nor the quotients.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from ....tir.expr import Binary, Call, Cast, Const, Expr, Load, rewrite
from ....tir.forms import AnyForm, Map, Reduction
from ....tir.stmt import Buffer, Store

Same = Callable[[Buffer], Buffer]
"""The source of a view; other buffers themselves."""


def find_softmax(forms: Sequence[AnyForm], same: Same) -> int | None:
    """The number of the first of three stages: the largest of each row, exp(x - largest), and the sums of these; None without
    such stages."""
    for n, (a, b, c) in enumerate(zip(forms, forms[1:], forms[2:])):
        source = largest_of(a)
        if source is None or not isinstance(a, Reduction) or not isinstance(b, Map) or len(b.stores) != 1:
            continue
        value, largest = b.stores[0].value, {same(a.stores[0].buffer): same(source)}
        summed = _reduced(c, "+", 0)
        if summed is None or same(summed) is not same(b.stores[0].buffer):
            continue
        if _distance(value, largest, same) is not None:
            return n
    return None


def flush_exponentials(forms: Sequence[AnyForm], same: Same) -> list[AnyForm]:
    """The stages, with exp(x - the largest x of the row) 0 instead of a subnormal number."""
    largest: dict[Buffer, Buffer] = {}
    flushed: list[AnyForm] = []
    for form in forms:
        if isinstance(form, Map):
            values = [_flushed(s.value, largest, same) for s in form.stores]
            if any(v is not s.value for v, s in zip(values, form.stores)):
                form = replace(form, stores=tuple(Store(s.buffer, s.indices, v) for v, s in zip(values, form.stores)))
        source = _reduced(form, "max", -math.inf, of=_widened)
        if source is not None:
            assert isinstance(form, Reduction)
            largest[same(form.stores[0].buffer)] = same(source)
        flushed.append(form)
    return flushed


def largest_of(form: AnyForm) -> Buffer | None:
    """The buffer whose rows' largest elements a stage computes; None for other stages."""
    return _reduced(form, "max", -math.inf)


def _widened(e: Expr) -> Expr:
    """The operand of a cast to float32; other expressions unchanged. 16-bit numbers are cast before arithmetic."""
    return e.value if isinstance(e, Cast) and e.dtype == "float32" else e


def _reduced(form: AnyForm, op: str, init: float, of: Callable[[Expr], Expr] = lambda e: e) -> Buffer | None:
    """The buffer whose rows a stage reduces, from `init` on; None for other stages. `of`: the element in the reduced
    expression."""
    if not isinstance(form, Reduction) or form.guards or len(form.inner) != 1 or len(form.stores) != 1:
        return None
    u, stored = form.update, form.stores[0].value
    if not isinstance(u, Binary) or u.op != op or not isinstance(u.a, Load) or u.a.source is not form.acc:
        return None
    if not isinstance(stored, Load) or stored.source is not form.acc or not isinstance(form.init, Const):
        return None
    element = of(u.b)
    return element.source if isinstance(element, Load) and form.init.value == init else None


def _distance(e: Expr, largest: dict[Buffer, Buffer], same: Same) -> Expr | None:
    """The `x - largest x` whose exp an expression is; None for other expressions."""
    if not isinstance(e, Call) or e.name != "exp" or e.dtype != "float32":
        return None
    (d,) = e.args
    if not isinstance(d, Binary) or d.op != "-" or not isinstance(d.b, Load):
        return None
    x = _widened(d.a)
    return d if isinstance(x, Load) and largest.get(same(d.b.source)) is same(x.source) else None


def _flushed(value: Expr, largest: dict[Buffer, Buffer], same: Same) -> Expr:
    def flush(e: Expr) -> Expr:
        d = _distance(e, largest, same)
        return e if d is None else Call("flushed_exp", (d,), "float32")

    return rewrite(value, flush)
