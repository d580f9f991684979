"""Elementwise operators of one operand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from ....deferred import np
from ..dtypes import is_float, is_integer, is_unsigned
from ..form import Absent, Form, decomposed, form, row
from ..graph import Value
from ..site import OnnxSite


@dataclass(frozen=True)
class Elementwise(Form):
    """The node of the same meaning, for floating point; integers are cast there and back."""

    node: str

    direct: ClassVar[bool] = True

    @property
    def becomes(self) -> str:
        return f"`{self.node}`; of integers in float32"

    def emit(self, s: OnnxSite) -> Any:
        (x,) = s.inputs
        return s.cast(s.node(self.node, in_floats(s, x)), x.dtype)


def in_floats(s: Any, x: Value) -> Value:
    """The operand of a function of real numbers: of integers as float32, from which the result is cast back."""
    return x if is_float(x.dtype) else s.cast(x, "float32")


for _name, _node in {
    "acos": "Acos", "acosh": "Acosh", "asin": "Asin", "asinh": "Asinh", "atan": "Atan", "atanh": "Atanh", "cos": "Cos",
    "cosh": "Cosh", "exp": "Exp", "fast_exp": "Exp", "log": "Log", "sigmoid": "Sigmoid", "sin": "Sin", "sinh": "Sinh",
    "sqrt": "Sqrt", "tan": "Tan", "tanh": "Tanh", "fast_tanh": "Tanh", "erf": "Erf", "fast_erf": "Erf",
}.items():  # fmt: skip
    row(Elementwise(_node), _name)


@dataclass(frozen=True)
class AnyNumber(Elementwise):
    """The node of the same meaning, for numbers of all kinds."""

    @property
    def becomes(self) -> str:
        return f"`{self.node}`"

    def emit(self, s: OnnxSite) -> Any:
        (x,) = s.inputs
        return s.node("Identity" if x.dtype == "bool" else self.node, x)


for _name, _node in {"abs": "Abs", "sign": "Sign", "copy": "Identity"}.items():
    row(AnyNumber(_node), _name)


@dataclass(frozen=True)
class Rounding(Elementwise):
    """The node of the same meaning; integers stay as they are."""

    @property
    def becomes(self) -> str:
        return f"`{self.node}`; integers stay as they are"

    def emit(self, s: OnnxSite) -> Any:
        (x,) = s.inputs
        return s.node(self.node if is_float(x.dtype) else "Identity", x)


for _name, _node in {"ceil": "Ceil", "floor": "Floor"}.items():
    row(Rounding(_node), _name)


@form("negative")
@dataclass(frozen=True)
class Negative(Form):
    """`Neg`; of unsigned integers `Sub` from 0"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        (x,) = s.inputs
        return s.sub(s.scalar(0, x), x) if is_unsigned(x.dtype) else s.node("Neg", x)


@form("nn.relu")
@dataclass(frozen=True)
class Relu(Form):
    """`Relu`; unsigned integers stay as they are"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        (x,) = s.inputs
        return s.node("Identity" if is_unsigned(x.dtype) or x.dtype == "bool" else "Relu", x)


@form("nn.leaky_relu")
@dataclass(frozen=True)
class LeakyRelu(Form):
    """`LeakyRelu`"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        (x,) = s.inputs
        if not is_float(x.dtype):
            s.refuse(f"ONNX has LeakyRelu for floating point, not for {x.dtype}")
        return s.node("LeakyRelu", x, alpha=float(s.attrs.alpha))


@form("clip")
@dataclass(frozen=True)
class Clip(Form):
    """`Clip`; `Min` and `Max` where the bounds cross"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        (x,) = s.inputs
        low, high = (bound(v, x.dtype) for v in (s.attrs.a_min, s.attrs.a_max))
        if s.attrs.a_min > s.attrs.a_max or x.dtype == "bool":
            wide = s.cast(x, "int32") if x.dtype == "bool" else x
            inner = s.node("Min", wide, s.scalar(high, wide))
            return s.cast(s.node("Max", inner, s.scalar(low, wide)), x.dtype)
        return s.node("Clip", x, s.scalar(low, x), s.scalar(high, x))


def bound(value: float, dtype: str) -> float | int:
    """A bound as a number that the dtype has."""
    if dtype == "bool":
        return int(min(max(value, 0), 1))
    if not is_integer(dtype):
        return value
    info = np.iinfo(dtype)
    if math.isinf(value):
        return int(info.max if value > 0 else info.min)
    return int(min(max(int(value), int(info.min)), int(info.max)))


@form("cast")
@dataclass(frozen=True)
class Cast(Form):
    """`Cast`"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        (x,) = s.inputs
        return s.cast(x, s.out.dtype) if x.dtype != s.out.dtype else s.node("Identity", x)


@form("cast_like")
@dataclass(frozen=True)
class CastLike(Form):
    """`Cast` to the dtype of the second operand"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        return s.cast(s.inputs[0], s.out.dtype)


@form("reinterpret")
@dataclass(frozen=True)
class Reinterpret(Form):
    """`Cast` between integers of one width, else `BitCast`"""

    direct: ClassVar[bool] = True
    differs: ClassVar[str] = "bits of floating point have no form before opset 26"

    def emit(self, s: OnnxSite) -> Any:
        from ..site import element_type

        (x,) = s.inputs
        if is_integer(x.dtype) and is_integer(s.out.dtype):
            return s.cast(x, s.out.dtype)
        s.need_opset(26, "BitCast")
        return s.node("BitCast", x, dtype=s.out.dtype, to=element_type(s.out.dtype))


@decomposed("`Sqrt`, `Reciprocal`", "rsqrt")
def rsqrt(s: OnnxSite) -> Value:
    (x,) = s.inputs
    return s.cast(s.node("Reciprocal", s.node("Sqrt", in_floats(s, x))), x.dtype)


@decomposed("`Log`, `Mul`", "log2")
def log2(s: OnnxSite) -> Value:
    return _logarithm(s, 2)


@decomposed("`Log`, `Mul`", "log10")
def log10(s: OnnxSite) -> Value:
    return _logarithm(s, 10)


def _logarithm(s: OnnxSite, base: int) -> Value:
    (operand,) = s.inputs
    x = in_floats(s, operand)
    return s.cast(s.mul(s.node("Log", x), s.scalar(1 / math.log(base), x)), operand.dtype)


@form("hardswish")
@dataclass(frozen=True)
class HardSwish(Form):
    """`HardSwish`; of float64 and integers `Add`, `Clip`, `Mul`, `Div`"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        (x,) = s.inputs
        if x.dtype in ("float32", "float16"):
            return s.node("HardSwish", x)
        moved = s.node("Clip", s.add(x, s.scalar(3, x)), s.scalar(0, x), s.scalar(6, x))
        return s.div(s.mul(x, moved), s.scalar(6, x))


@decomposed("`Floor` of the magnitude, plus 1 from a half on: `Round` would round halves to even", "round")
def round_half_away(s: OnnxSite) -> Value:
    x = s.inputs[0]
    return rounded_away(s, x) if is_float(x.dtype) else s.node("Identity", x)


def rounded_away(s: Any, x: Value) -> Value:
    """`x` rounded to the nearest integer, halves away from zero."""
    size = s.node("Abs", x)
    low = s.node("Floor", size)
    more = s.compare("GreaterOrEqual", s.sub(size, low), s.scalar(0.5, x))
    return s.mul(s.node("Sign", x), s.add(low, s.cast(more, x.dtype)))


@decomposed("`Ceil` below 0, `Floor` elsewhere", "trunc")
def trunc(s: OnnxSite) -> Value:
    x = s.inputs[0]
    return truncated(s, x) if is_float(x.dtype) else s.node("Identity", x)


def truncated(s: Any, x: Value) -> Value:
    """`x` rounded towards zero."""
    return s.where(s.compare("Less", x, s.scalar(0, x)), s.node("Ceil", x), s.node("Floor", x))


def _test(s: Any, node: str, x: Value) -> Value:
    """`IsInf` or `IsNaN`; false for every integer."""
    if not is_float(x.dtype):
        return s.node("Not", s.compare("Equal", x, x), dtype="bool")
    if x.dtype not in ("float32", "float64") and node == "IsInf" and s.opset < 20:
        x = s.cast(x, "float32")
    return s.node(node, x, dtype="bool")


@decomposed("`IsNaN`", "isnan")
def isnan(s: OnnxSite) -> Value:
    return _test(s, "IsNaN", s.inputs[0])


@decomposed("`IsInf`", "isinf")
def isinf(s: OnnxSite) -> Value:
    return _test(s, "IsInf", s.inputs[0])


@decomposed("`IsInf`, `IsNaN`, `Or`, `Not`", "isfinite")
def isfinite(s: OnnxSite) -> Value:
    (x,) = s.inputs
    return s.node("Not", s.node("Or", _test(s, "IsInf", x), _test(s, "IsNaN", x)))


@decomposed("`Not` of the truth value", "logical_not")
def logical_not(s: OnnxSite) -> Value:
    return s.cast(s.node("Not", s.cast(s.inputs[0], "bool")), s.out.dtype)


@form("bitwise_not")
@dataclass(frozen=True)
class BitwiseNot(Form):
    """`BitwiseNot`; `Not` of truth values"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        (x,) = s.inputs
        return s.node("Not" if x.dtype == "bool" else "BitwiseNot", x)


@dataclass(frozen=True)
class Through(Form):
    """its argument: it marks something that other formats have no word for"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        return s.inputs[0]


row(
    Through(), "annotation.bitpack_end", "annotation.bitpack_start", "annotation.cast_hint", "annotation.checkpoint",
    "annotation.compiler_begin", "annotation.compiler_end", "annotation.stop_fusion", "debug", "device_copy", "on_device",
    "annotation.with_funcid",
)  # fmt: skip


@decomposed("`Split` into halves, products and shifts of these: 32 by 31 bits in `int64`", "fixed_point_multiply")
def fixed_point_multiply(s: OnnxSite) -> Value:
    (x,) = s.inputs
    return s.cast(scaled(s, s.cast(x, "int64"), int(s.attrs.multiplier), int(s.attrs.shift)), x.dtype)


def scaled(s: Any, x: Value, multiplier: int, shift: int) -> Value:
    """`x * multiplier / 2**31 * 2**shift` in `int64`, halves rounded up."""
    if shift > 0:
        x = s.mul(x, s.scalar(1 << shift, x))
    right = 31 - min(shift, 0)
    product = s.add(s.mul(x, s.scalar(multiplier, x)), s.scalar(1 << (right - 1), x))
    return floor_divided(s, product, s.scalar(1 << right, x))


def floor_divided(s: Any, a: Value, b: Value) -> Value:
    """The quotient of integers, rounded down: one less than `Div` gives, which rounds towards zero,
    if there is a remainder whose sign is not that of the divisor."""
    if is_unsigned(a.dtype):
        return s.div(a, b)
    rest, zero = s.node("Mod", a, b, fmod=1), s.scalar(0, a)
    apart = s.node("Xor", s.compare("Less", rest, zero), s.compare("Less", b, zero))
    down = s.node("And", s.node("Not", s.compare("Equal", rest, zero)), apart)
    return s.sub(s.div(a, b), s.cast(down, a.dtype))


row(Absent("ONNX's random numbers come from no generator that is handed on, so none are the same"), "random.multinomial", "random.normal",
    "random.threefry_generate", "random.threefry_split", "random.uniform")  # fmt: skip
