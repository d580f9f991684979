"""Operators of two operands that broadcast."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from ..dtypes import is_float, is_unsigned
from ..form import Form, decomposed, form, row
from ..graph import Value
from ..site import OnnxSite
from .unary import floor_divided, truncated


@dataclass(frozen=True)
class Arithmetic(Form):
    """The node of the same meaning."""

    node: str

    direct: ClassVar[bool] = True

    @property
    def becomes(self) -> str:
        return f"`{self.node}`"

    def emit(self, s: OnnxSite) -> Any:
        a, b = s.inputs
        if a.dtype == "bool" and self.node in ("Add", "Sub"):
            return s.node("Xor", a, b)  # one bit, which wraps
        if a.dtype == "bool":
            return s.cast(s.node(self.node, s.cast(a, "int32"), s.cast(b, "int32")), "bool")
        return s.node(self.node, a, b)


for _name, _node in {
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "power": "Pow", "maximum": "Max", "minimum": "Min",
}.items():  # fmt: skip
    row(Arithmetic(_node), _name)


@dataclass(frozen=True)
class Comparison(Arithmetic):
    """The node of the same meaning, with a truth value."""

    negated: bool = False

    @property
    def becomes(self) -> str:
        return f"`{self.node}`, `Not`" if self.negated else f"`{self.node}`"

    def emit(self, s: OnnxSite) -> Any:
        comparison = s.compare(self.node, *s.inputs)
        return s.node("Not", comparison) if self.negated else comparison


for _name, _node in {
    "equal": "Equal", "less": "Less", "less_equal": "LessOrEqual", "greater": "Greater", "greater_equal": "GreaterOrEqual",
}.items():  # fmt: skip
    row(Comparison(_node), _name)
row(Comparison("Equal", negated=True), "not_equal")


@dataclass(frozen=True)
class Logical(Arithmetic):
    """The node of the same meaning on truth values."""

    def emit(self, s: OnnxSite) -> Any:
        a, b = (s.cast(v, "bool") for v in s.inputs)
        return s.cast(s.node(self.node, a, b), s.out.dtype)


for _name, _node in {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}.items():
    row(Logical(_node), _name)


@dataclass(frozen=True)
class Bitwise(Arithmetic):
    """The node of the same meaning; its logical twin on truth values."""

    @property
    def becomes(self) -> str:
        return f"`Bitwise{self.node}`; `{self.node}` of truth values"

    def emit(self, s: OnnxSite) -> Any:
        a, b = s.inputs
        return s.node(self.node if a.dtype == "bool" else f"Bitwise{self.node}", a, b)


for _name, _node in {"bitwise_and": "And", "bitwise_or": "Or", "bitwise_xor": "Xor"}.items():
    row(Bitwise(_node), _name)


@decomposed("`Mul` by a power of two, which `BitShift` makes, in `int64`", "left_shift")
def left_shift(s: OnnxSite) -> Value:
    a, b = s.inputs
    return s.cast(s.mul(s.cast(a, "int64"), _power_of_two(s, b)), a.dtype)


@decomposed("`BitShift` of unsigned integers, else division by a power of two, rounded down", "right_shift")
def right_shift(s: OnnxSite) -> Value:
    a, b = s.inputs
    if is_unsigned(a.dtype):
        shifted = s.node("BitShift", s.cast(a, "uint64"), s.cast(b, "uint64"), direction="RIGHT")
        return s.cast(shifted, a.dtype)
    return s.cast(floor_divided(s, s.cast(a, "int64"), _power_of_two(s, b)), a.dtype)


def _power_of_two(s: OnnxSite, exponent: Value) -> Value:
    one = s.constant(1, "uint64")
    return s.cast(s.node("BitShift", one, s.cast(exponent, "uint64"), direction="LEFT"), "int64")


def on_divisors(s: OnnxSite, divide: Callable[[Value, Value], Value], is_quotient: bool = True) -> Value:
    """A division of integers: Relay gives 0 where the divisor is 0, and the runtimes of ONNX refuse that.

    By -1 nothing is divided, since the least number has no quotient, and processors stop there: the quotient is the negative.
    """
    a, b = s.inputs
    if b.dtype == "bool":  # by 1, or by 0
        s.inputs = (s.cast(a, "int32"), s.cast(b, "int32"))
        return s.cast(on_divisors(s, divide, is_quotient), "bool")
    known = s.constants.arrays.get(b.name)
    signed = not is_unsigned(b.dtype)
    if known is not None and (known[0] != 0).all() and not (signed and (known[0] == -1).any()):
        return divide(a, b)
    zero = s.compare("Equal", b, s.scalar(0, b))
    minus = s.compare("Equal", b, s.scalar(-1, b)) if signed else None
    unfit = zero if minus is None else s.node("Or", zero, minus)
    quotient = divide(a, s.where(unfit, s.scalar(1, b), b))
    if minus is not None and is_quotient:
        quotient = s.where(minus, s.sub(s.scalar(0, a), a), quotient)
    return s.where(zero, s.scalar(0, quotient), quotient)


@form("divide")
@dataclass(frozen=True)
class Divide(Form):
    """`Div`; of integers with `Where` in case the divisor is 0"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        a, b = s.inputs
        return s.div(a, b) if is_float(a.dtype) else on_divisors(s, s.div)


def _floor_div(s: OnnxSite) -> Value:
    a, b = s.inputs
    if is_float(a.dtype):
        return s.node("Floor", s.div(a, b))

    def divide(a: Value, b: Value) -> Value:
        wide = "int32" if a.dtype in ("int8", "int16") else a.dtype
        return s.cast(floor_divided(s, s.cast(a, wide), s.cast(b, wide)), a.dtype)

    return on_divisors(s, divide)


@decomposed("`Div`, `Floor`; of integers `Mod`, `Sub`, `Div`", "floor_divide")
def floor_divide(s: OnnxSite) -> Value:
    return _floor_div(s)


@decomposed("`Mod` of integers, `Div`, `Floor`, `Mul`, `Sub` of floating point", "floor_mod")
def floor_mod(s: OnnxSite) -> Value:
    a, b = s.inputs
    if is_float(a.dtype):
        return s.sub(a, s.mul(s.node("Floor", s.div(a, b)), b))
    return on_divisors(s, lambda a, b: s.node("Mod", a, b), is_quotient=False)


@decomposed("`Div`; of floating point rounded towards zero", "trunc_divide")
def trunc_divide(s: OnnxSite) -> Value:
    a, b = s.inputs
    return truncated(s, s.div(a, b)) if is_float(a.dtype) else on_divisors(s, s.div)


@form("mod", "trunc_mod")
@dataclass(frozen=True)
class Mod(Form):
    """`Mod` with `fmod=1`"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        a, b = s.inputs
        if is_float(a.dtype):
            return s.node("Mod", a, b, fmod=1)
        return on_divisors(s, lambda a, b: s.node("Mod", a, b, fmod=1), is_quotient=False)


@form("where")
@dataclass(frozen=True)
class Where(Form):
    """`Where`, the condition cast to truth values"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        condition, a, b = s.inputs
        return s.where(s.cast(condition, "bool"), a, b)


@form("nn.bias_add")
@dataclass(frozen=True)
class BiasAdd(Form):
    """`Add`, the vector unsqueezed"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        x, bias = s.inputs
        return s.add(x, along(s, bias, s.axes(0, [s.attrs.axis])[0], len(s.tensor(0).shape)))


@form("nn.prelu")
@dataclass(frozen=True)
class PRelu(Form):
    """`PRelu`, the vector unsqueezed"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        x, alpha = s.inputs
        return s.node("PRelu", x, along(s, alpha, s.axes(0, [s.attrs.axis])[0], len(s.tensor(0).shape)))


def along(s: Any, vector: Value, axis: int, rank: int) -> Value:
    """A vector as a tensor that broadcasts against one of that rank, running along an axis."""
    return s.unsqueeze(vector, *range(1, rank - axis)) if axis < rank - 1 else vector
