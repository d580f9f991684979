"""The softmax between the products of an attention: which stages it is, its rows one by one in whole vectors, and its exponentials
without subnormal numbers.

A mask such as -100 makes exponentials of 1e-44, with which processors compute a hundred times as slowly. Beside the largest
exponential of a row, which is 1, they are nothing: not to the row's sum, nor to what is divided by it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from ....tir.expr import Binary, Call, Cast, Const, Expr, Load, rewrite
from ....tir.forms import AnyForm, Map, Reduction
from ....tir.stmt import Buffer, Store

Same = Callable[[Buffer], Buffer]
"""One name for each value that has several, under other shapes."""


def find_softmax(forms: Sequence[AnyForm], same: Same) -> int | None:
    """The number of the first of three stages: the largest of each row, exp(x - largest), the sums of these; None if they are not
    there."""
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
    """Stages in which exp(x - the largest x of the row) is 0 where it would be subnormal."""
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
    """The buffer whose rows' largest elements a stage finds; None if it does something else."""
    return _reduced(form, "max", -math.inf)


def _widened(e: Expr) -> Expr:
    """What is cast to float32, as numbers of 16 bits are before they are computed with."""
    return e.value if isinstance(e, Cast) and e.dtype == "float32" else e


def _reduced(form: AnyForm, op: str, init: float, of: Callable[[Expr], Expr] = lambda e: e) -> Buffer | None:
    """The buffer whose rows a stage reduces, from `init` on; None if it does something else. `of`: what an element is made of."""
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
    """The `x - largest x` of which an expression is exp."""
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
