"""Sums of a number and a function that comes near its negative, which the interpreter computes as one.

    1 + erf(x)  ⇒  erfc(-x)        1 + tanh(x)  ⇒  2 sigmoid(2 x)        1 - sigmoid(x)  ⇒  sigmoid(-x)

and so on with another number in place of 1, as `schedule.graph.keep_tails` does it for compiled code: the difference keeps no digit of what
is far below 1, and GELU would be 0 below -5. Of floats with 32 and 64 bits; those with 16 are rounded between the two steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..deferred import np
from ..ir import Call, Constant, Expr, MissingData, Op
from ..ops.base import is_call_to
from ..ops.erf import erfc

Function = Callable[[Any], Any]


def _falling(x: Any) -> Any:
    """sigmoid(-x)."""
    with np.errstate(over="ignore"):
        return x.dtype.type(1) / (x.dtype.type(1) + np.exp(x))


FROM_ONE: dict[str, Function] = {
    "erf": erfc,
    "tanh": lambda x: x.dtype.type(2) * _falling(x + x),
    "sigmoid": _falling,
}
"""1 minus the function, by the name of the function."""
ODD = ("erf", "tanh")
"""Functions of which f(-x) is -f(x): their sums are differences as well."""


class Complement(NamedTuple):
    """The sum of 1 and a function, as another function of its argument, and the steps in between."""

    argument: Expr
    function: Function
    steps: tuple[Expr, ...]


def complement(e: Call) -> Complement | None:
    """The sum that a call is; None for any other call."""
    if not is_call_to(e, "add", "subtract"):
        return None
    a, b = e.args
    second = -1 if is_call_to(e, "subtract") else 1
    for number, sign, other, other_sign in ((a, 1, b, second), (b, second, a, 1)):
        total = _number(number)
        if total is None:
            continue
        factor, called = _product(other)
        if called is None or not isinstance(called.op, Op):
            continue
        constant, multiple = float(sign * total.item()), float(other_sign * factor.item())
        name = called.op.name
        rank = max(total.ndim, factor.ndim)
        if multiple == -constant:
            return Complement(called.args[0], _scaled(FROM_ONE[name], constant, 1, rank), (other, called))
        if multiple == constant and name in ODD:
            return Complement(called.args[0], _scaled(FROM_ONE[name], constant, -1, rank), (other, called))
    return None


def _scaled(function: Function, by: float, sign: int, rank: int) -> Function:
    """The function of an array or of its negative, times a number; of this rank at least, as constants of more dimensions make it."""

    def apply(x: Any) -> Any:
        result = x.dtype.type(by) * function(x if sign > 0 else -x)
        return np.asarray(result).reshape((1,) * (rank - x.ndim) + x.shape)

    return apply


def _product(e: Expr) -> tuple[Any, Call | None]:
    """A function and the number that it is multiplied by."""
    if is_call_to(e, "multiply"):
        for number, other in (e.args, e.args[::-1]):
            factor = _number(number)
            if factor is not None:
                return factor, other if is_call_to(other, *FROM_ONE) else None
        return None, None
    return np.ones((), "float32"), e if is_call_to(e, *FROM_ONE) else None


def _number(e: Expr) -> Any:
    """The array of a constant with one element, float32 or float64; None for anything else."""
    if not isinstance(e, Constant) or isinstance(e.data, MissingData) or e.dtype not in ("float32", "float64"):
        return None
    return e.data if e.data.size == 1 and str(e.data.dtype) == e.dtype else None
