"""Sums of a number and a function close to its negative, such as 1 + erf(x), computed by one function.

    1 + erf(x)              ⇒  erfc(-x)
    1 + tanh(x)             ⇒  sigmoid(2 * x) * 2
    1 - sigmoid(x)          ⇒  sigmoid(-x)
    0.5 + erf(x) * 0.5      ⇒  erfc(-x) * 0.5

A difference keeps no digits of results far below 1: GELU would be 0 below -5. `interp.complements` does the same for the
interpreter.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from ...tir.expr import Binary, Call, Const, Expr, children, const, mul, post_order
from ...tir.forms import AnyForm, LoopForm, Steps, expressions_of, rewrite_form

ODD = ("erf", "tanh")
"""Functions with f(-x) = -f(x), whose sums are differences as well."""


class _Sum(NamedTuple):
    """`total - total * f(sign * x)`: the call of f(x), and the other operand, which is the call or its product with a number."""

    total: float
    sign: int
    called: Call
    other: Expr


def keep_tails(form: AnyForm) -> AnyForm:
    """The form with such sums replaced; sums stay if other expressions read the function too, which would be computed twice."""
    if isinstance(form, Steps):
        return form
    while True:
        sums = _sums_alone(form)
        if not sums:
            return form
        # A sum inside of another is replaced in the next round, as its operands are new.
        form = rewrite_form(form, partial(_replaced, sums))


def _replaced(sums: Mapping[Expr, _Sum], e: Expr) -> Expr:
    return _complement(sums[e]) if e in sums else e


def _sums_alone(form: LoopForm) -> dict[Expr, _Sum]:
    """The sums whose functions no other expressions read."""
    nodes = post_order(*expressions_of(form))
    if all(_function(e) is None for e in nodes):
        return {}
    sums = {e: addend for e in nodes if (addend := _sum(e)) is not None}
    products = {s.other: s.called for s in sums.values()}
    read_by_others: set[Expr] = set()
    for e in reversed(nodes):  # readers first
        if e not in sums:
            factor = products.get(e) if e not in read_by_others else None
            read_by_others.update(k for k in children(e) if k is not factor)
    return {e: s for e, s in sums.items() if s.called not in read_by_others and s.other not in read_by_others}


def _sum(e: Expr) -> _Sum | None:
    if not isinstance(e, Binary) or e.op not in ("+", "-") or e.dtype not in ("float32", "float64"):
        return None
    second = -1 if e.op == "-" else 1
    for number, sign, other, other_sign in ((e.a, 1, e.b, second), (e.b, second, e.a, 1)):
        factor, called = _factor(other)
        if not isinstance(number, Const) or called is None:
            continue
        total, factor = sign * number.value, other_sign * factor
        if factor == -total:
            return _Sum(total, 1, called, other)
        if factor == total and called.name in ODD:
            return _Sum(total, -1, called, other)
    return None


def _factor(e: Expr) -> tuple[float, Call | None]:
    """The factor of a function call, and the call; None without a call."""
    if isinstance(e, Binary) and e.op == "*":
        for number, other in ((e.a, e.b), (e.b, e.a)):
            if isinstance(number, Const):
                return number.value, _function(other)
    return 1, _function(e)


def _function(e: Expr) -> Call | None:
    return e if isinstance(e, Call) and e.name in (*ODD, "sigmoid") else None


def _complement(s: _Sum) -> Expr:
    f, (x,) = s.called, s.called.args
    total = const(s.total, f.dtype)
    if f.name == "erf":
        return mul(Call("erfc", (_scaled(x, s.sign),), f.dtype), total)
    if f.name == "sigmoid":
        return mul(Call("sigmoid", (_scaled(x, -s.sign),), f.dtype), total)
    return mul(Call("sigmoid", (_scaled(x, -2 * s.sign),), f.dtype), const(2 * s.total, f.dtype))


def _scaled(x: Expr, by: int) -> Expr:
    """`x` times a power of two or its negative; if `x` is a product with a number, that number is scaled."""
    if by == 1:
        return x
    if isinstance(x, Binary) and x.op == "*":
        for number, other in ((x.a, x.b), (x.b, x.a)):
            if isinstance(number, Const):
                return mul(other, const(number.value * by, x.dtype))
    return mul(x, const(by, x.dtype))
