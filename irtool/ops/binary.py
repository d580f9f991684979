"""Elementwise operators of two tensors that broadcast against each other. A new one is a call of `_row`.

Both sides have one dtype, and so has the result, except that comparisons give bool. Integers wrap around. What C leaves
undefined is settled here and is the same in compiled code: a division by zero gives 0 and its remainder is 0, the most
negative integer divided by -1 is itself, and a shift by the width or more shifts every bit out.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from .. import te
from ..deferred import late, np
from ..diagnostics import IrError
from ..ir import Type
from .base import Operator, Pattern, Reporter, operator
from .dtypes import is_float, is_half, is_real, needs_bits
from .extremes import larger, larger_expression, smaller, smaller_expression
from .partial import broadcast_known, tie_dtypes
from .relations import broadcast, broadcast_compare
from .typical import of_binary

Function = Callable[..., Any]


def pick(x: Any, indices: Sequence[Any]) -> Any:
    """The element of `x` that broadcasting puts at `indices` of the result."""
    own = indices[len(indices) - len(x.shape) :] if x.shape else ()
    return x[tuple(0 if extent == 1 else i for extent, i in zip(x.shape, own, strict=True))]


@dataclass(frozen=True)
class Binary(Operator):
    """Base of the family: a numpy function, a te function of two elements, and a type rule."""

    layout_rule = "broadcast"

    reference: ClassVar[Function]
    expression: ClassVar[Function]
    rule: ClassVar[Callable[[Sequence[Type], Reporter], Type | None]]

    @classmethod
    def explain_rule(cls) -> str:
        return inspect.getdoc(cls.rule) or ""

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        return type(self).rule(types, reporter)

    def typical(self, types: Sequence[Type | None], out: Type | None, hint: Any) -> Sequence[Any]:
        return of_binary(self.name, types, hint)

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        return broadcast_known(args, out)

    def deduce_dtypes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        if type(self).rule is broadcast_compare:
            return tie_dtypes(args, None, self.arguments, ("lhs", "rhs"))[0], "bool"
        return tie_dtypes(args, out, self.arguments, ("lhs", "rhs", "result"))

    def evaluate(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        # No errstate here: the interpreter silences numpy once, and loops over scalars call this a million times.
        try:
            return np.asarray(type(self).reference(a, b))
        except TypeError:
            raise IrError(f"{self.name} has no meaning on {a.dtype}") from None

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        a, b = inputs
        function = type(self).expression
        return te.compute(
            out_type.shape, lambda *i: function(pick(a, i), pick(b, i)), name=f"T_{self.name}", tag="broadcast"
        )


def _of_bits(f: Function) -> Function:
    """`f` on integers; bools are computed as 8-bit integers of which the lowest bit remains."""

    def apply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if a.dtype.kind == "b":
            return (f(a.astype("uint8"), b.astype("uint8")) & 1).astype("bool")
        return f(a, b)

    return apply


added = _of_bits(late.add)
"""The sum as `add` has it: of bools, whether one of them is true and the other is not."""


def _in_dtype(f: Function) -> Function:
    """`f` with its result in the dtype of the inputs."""
    return lambda a, b: np.asarray(f(a, b)).astype(a.dtype)


def truncated_quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Integer division rounded towards zero; 0 if `b` is 0."""
    if a.dtype.kind != "i":
        return np.floor_divide(a, b)
    down = np.floor_divide(a, b)
    return down + ((down < 0) & (down * b != a) & (b != 0))


def _truncated_remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where(b == 0, a.dtype.type(0), np.fmod(a, b)).astype(a.dtype)


def _divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.true_divide(a, b).astype(a.dtype) if is_real(a.dtype) else _of_bits(truncated_quotient)(a, b)


def _floor_divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.floor(np.true_divide(a, b)).astype(a.dtype) if is_real(a.dtype) else _of_bits(np.floor_divide)(a, b)


def _trunc_divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.trunc(np.true_divide(a, b)).astype(a.dtype) if is_real(a.dtype) else _of_bits(truncated_quotient)(a, b)


def _floor_mod(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a - _floor_divide(a, b) * b).astype(a.dtype) if is_real(a.dtype) else _of_bits(np.mod)(a, b)


def _trunc_mod(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a - _trunc_divide(a, b) * b).astype(a.dtype) if is_real(a.dtype) else _of_bits(_truncated_remainder)(a, b)


def _mod(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.fmod(a, b).astype(a.dtype) if is_real(a.dtype) else _of_bits(_truncated_remainder)(a, b)


def _power(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if is_real(a.dtype):
        return np.power(a, b).astype(a.dtype)
    if a.dtype.kind == "b":
        return np.logical_or(a, np.logical_not(b))
    if a.dtype.kind == "u":
        return np.power(a, b)
    whole = np.power(a, np.maximum(b, 0))
    inverse = np.where(a == 1, 1, np.where(a == -1, np.where(b % 2 == 0, 1, -1), 0))
    return np.where(b >= 0, whole, inverse).astype(a.dtype)


def _shift(f: Function) -> Function:
    return _of_bits(lambda a, b: f(a, b).astype(a.dtype))


def _widened(f: Function) -> Function:
    """`f` in float32 for 16-bit floats, as numpy's loops and TVM's code both do, then rounded."""
    return lambda a, b: f(a.astype("float32"), b.astype("float32")).astype(a.dtype) if is_half(a.dtype) else f(a, b)


def _te_widened(f: Function) -> Function:
    """The same in a tensor expression."""

    def apply(a: Any, b: Any) -> Any:
        if a.dtype not in ("float16", "bfloat16"):
            return f(a, b)
        return te.cast(f(te.cast(a, "float32"), te.cast(b, "float32")), a.dtype)

    return apply


def _te_bits(f: Function) -> Function:
    """`f` on integers; bools are computed as 8-bit integers of which the lowest bit remains."""

    def apply(a: Any, b: Any) -> Any:
        if a.dtype != "bool":
            return f(a, b)
        return te.cast(f(te.cast(a, "uint8"), te.cast(b, "uint8")) & te.const(1, "uint8"), "bool")

    return apply


added_expression = _te_bits(lambda a, b: a + b)
"""`added` of two elements in a tensor expression."""


def _te_divide(a: Any, b: Any) -> Any:
    return a / b if is_float(a.dtype) else _te_bits(te.truncdiv)(a, b)


def _te_floor_divide(a: Any, b: Any) -> Any:
    return te.floor(a / b) if is_float(a.dtype) else _te_bits(te.floordiv)(a, b)


def _te_trunc_divide(a: Any, b: Any) -> Any:
    return te.trunc(a / b) if is_float(a.dtype) else _te_bits(te.truncdiv)(a, b)


def _te_floor_mod(a: Any, b: Any) -> Any:
    return a - te.product(te.floor(a / b), b) if is_float(a.dtype) else _te_bits(te.floormod)(a, b)


def _te_trunc_mod(a: Any, b: Any) -> Any:
    return a - te.product(te.trunc(a / b), b) if is_float(a.dtype) else _te_bits(te.truncmod)(a, b)


def _te_mod(a: Any, b: Any) -> Any:
    return te.fmod(a, b) if is_float(a.dtype) else _te_bits(te.truncmod)(a, b)


def _te_power(a: Any, b: Any) -> Any:
    return te.pow(a, b) if is_float(a.dtype) else _te_bits(te.pow)(a, b)


def _te_logical(f: Function) -> Function:
    return lambda a, b: te.cast(f(te.cast(a, "bool"), te.cast(b, "bool")), a.dtype)


def _row(
    name: str,
    level: int,
    gives: str,
    reference: Function,
    expression: Function,
    rule: Function = broadcast,
    **facts: object,
) -> None:
    body = {
        "__doc__": f"Elementwise {gives}, with broadcasting.",
        "__module__": __name__,
        "reference": staticmethod(reference),
        "expression": staticmethod(expression),
        "rule": staticmethod(rule),
        "differentiable": rule is not broadcast_compare,
        **facts,
    }
    camel = "".join(part.capitalize() for part in name.split("_"))
    cls: type[Binary] = type(camel, (Binary,), body)
    operator(name, "lhs", "rhs", pattern=Pattern.BROADCAST, level=level)(cls)


# name, support level, meaning, numpy reference, tensor expression, and facts
_row("add", 1, "sum", added, added_expression, precision="follow")
_row("bitwise_and", 4, "bitwise AND", late.bitwise_and, needs_bits(lambda a, b: a & b), differentiable=False)
_row("bitwise_or", 4, "bitwise OR", late.bitwise_or, needs_bits(lambda a, b: a | b), differentiable=False)
_row(
    "bitwise_xor",
    4,
    "bitwise exclusive OR",
    late.bitwise_xor,
    needs_bits(lambda a, b: a ^ b),
    differentiable=False,
)
_row("divide", 1, "quotient (of integers, rounded towards zero)", _widened(_divide), _te_divide, precision="follow")
_row("floor_divide", 1, "quotient, rounded down", _widened(_floor_divide), _te_widened(_te_floor_divide))
_row("floor_mod", 1, "remainder of `floor_divide`", _widened(_floor_mod), _te_widened(_te_floor_mod))
_row(
    "left_shift",
    4,
    "left shift by `rhs` bits",
    _shift(late.left_shift),
    needs_bits(_te_bits(lambda a, b: a << b)),
    differentiable=False,
)
_row(
    "logical_and",
    4,
    "logical AND",
    _in_dtype(late.logical_and),
    _te_logical(te.logical_and),
    differentiable=False,
)
_row(
    "logical_or",
    4,
    "logical OR",
    _in_dtype(late.logical_or),
    _te_logical(te.logical_or),
    differentiable=False,
)
_row(
    "logical_xor",
    4,
    "logical exclusive OR",
    _in_dtype(late.logical_xor),
    _te_logical(te.bitwise_xor),
    differentiable=False,
)
_row("maximum", 4, "maximum", larger, larger_expression, precision="follow")
_row("minimum", 4, "minimum", smaller, smaller_expression, precision="follow")
_row("mod", 1, "remainder with the sign of `lhs`", _widened(_mod), _te_mod)
_row("multiply", 1, "product", _of_bits(late.multiply), _te_bits(lambda a, b: a * b), precision="follow")
_row("power", 4, "power `lhs ** rhs`", _widened(_power), _te_power, precision="never")
_row(
    "right_shift",
    4,
    "arithmetic right shift by `rhs` bits",
    _shift(late.right_shift),
    needs_bits(_te_bits(lambda a, b: a >> b)),
    differentiable=False,
)
_row("subtract", 1, "difference", _of_bits(late.subtract), _te_bits(lambda a, b: a - b), precision="follow")
_row("trunc_divide", 1, "quotient, rounded towards zero", _widened(_trunc_divide), _te_widened(_te_trunc_divide))
_row("trunc_mod", 1, "remainder of `trunc_divide`", _widened(_trunc_mod), _te_widened(_te_trunc_mod))

# Those that give bool.
_row("equal", 4, "comparison `lhs == rhs`", late.equal, te.equal, rule=broadcast_compare)
_row(
    "greater",
    4,
    "comparison `lhs > rhs`",
    late.greater,
    lambda a, b: a > b,
    rule=broadcast_compare,
    precision="follow",
)
_row(
    "greater_equal",
    4,
    "comparison `lhs >= rhs`",
    late.greater_equal,
    lambda a, b: a >= b,
    rule=broadcast_compare,
    precision="follow",
)
_row("less", 4, "comparison `lhs < rhs`", late.less, te.less, rule=broadcast_compare, precision="follow")
_row(
    "less_equal",
    4,
    "comparison `lhs <= rhs`",
    late.less_equal,
    te.less_equal,
    rule=broadcast_compare,
    precision="follow",
)
_row("not_equal", 4, "comparison `lhs != rhs`", late.not_equal, te.not_equal, rule=broadcast_compare)
