"""Quantized operators: ONNX's where they are exact, else the integer arithmetic that `qnn.CanonicalizeOps` writes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

from ....deferred import np
from ....ir import Constant, Expr, TensorType
from ....ops.base import is_call_to
from ....ops.qnn.fixed_point import EVEN
from ....passes.legalization.rule import QNN_CANONICALIZE, QNN_LEGALIZE, LegalizationSite, find_rule
from ..form import Expansion, decomposed, form, row
from ..graph import Value
from ..qdq import is_linear
from ..site import OnnxSite
from .binary import along
from .conv import PLAIN, convolved_integers, in_plain_layout, pads_of, spatial_rank, spread
from .matmul import swapped
from .unary import floor_divided

_BYTES = ("int8", "uint8")


def integer_arithmetic(s: LegalizationSite) -> Expr | None:
    """The call as Relay's passes write it on integers."""
    for rules in (QNN_CANONICALIZE, QNN_LEGALIZE):
        rule = find_rule(rules, s.attrs.name)
        expr = rule(s) if rule is not None else None
        if expr is not None:
            return expr
    return None


@dataclass(frozen=True)
class Canonicalized(Expansion):
    """integer arithmetic, as `qnn.CanonicalizeOps` writes it"""

    def expand(self, s: LegalizationSite) -> Expr | None:
        return integer_arithmetic(s)


row(
    Canonicalized(), "qnn.abs", "qnn.add", "qnn.avg_pool2d", "qnn.concatenate", "qnn.contrib_dense_pack",
    "qnn.conv2d_transpose", "qnn.erf", "qnn.exp", "qnn.hardswish", "qnn.leaky_relu", "qnn.log", "qnn.mul", "qnn.requantize",
    "qnn.rsqrt", "qnn.sigmoid", "qnn.softmax", "qnn.sqrt", "qnn.subtract", "qnn.tanh",
)  # fmt: skip


@form("qnn.quantize")
@dataclass(frozen=True)
class Quantize(Expansion):
    """`QuantizeLinear` of float32 to 8 bits where halves go to even, and with `--quantized=qdq`; else `Div`, rounding, `Add`, `Clip`, `Cast`"""

    def expand(self, s: LegalizationSite) -> Expr | None:
        return None if s.attrs.rounding == EVEN and is_linear(s) else integer_arithmetic(s)

    def emit(self, s: OnnxSite) -> Any:
        scale, zero, axis = _parameters(s)
        return s.node("QuantizeLinear", s.inputs[0], scale, _narrow(s, zero, s.out.dtype), dtype=s.out.dtype, axis=axis)


def _zero(e: Expr, dtype: str, columns: bool = False) -> bool:
    """True if the dtype has the zero point's number: a constant, or one of that dtype which was cast; with `columns`, a constant of
    several numbers too."""
    if _is_widened(e, dtype):
        return True
    if not isinstance(e, Constant) or not isinstance(e.data, np.ndarray) or not e.data.size:
        return False
    info = np.iinfo(dtype)
    return (columns or e.data.size == 1) and bool(info.min <= e.data.min() and e.data.max() <= info.max)


def _is_widened(e: Expr, dtype: str) -> bool:
    """True if one number is cast from that dtype, as `DynamicQuantizeLinear` computes a zero point."""
    if not is_call_to(e, "cast"):
        return False
    t = e.args[0].checked_type
    return isinstance(t, TensorType) and t.dtype == dtype and t.extents in ((), (1,))


def _fits(s: LegalizationSite, columns: bool = False) -> bool:
    """True for a product of 8-bit integers with zero points of these; with `columns`, one for each unit of the weights too."""
    data, weight = s.types[:2]
    return (
        isinstance(data, TensorType)
        and isinstance(weight, TensorType)
        and isinstance(s.type, TensorType)
        and data.dtype in _BYTES
        and weight.dtype in _BYTES
        and s.type.dtype == "int32"
        and _zero(s.args[2], data.dtype)
        and _zero(s.args[3], weight.dtype, columns)
    )


def _zeros(s: OnnxSite, columns: bool = False) -> tuple[Value, Value]:
    """The zero points as scalars of the operands' dtypes; with `columns`, that of the weights may have a number for each unit.

    Raises NoForm for others with several numbers.
    """
    x, w, x_zero, w_zero = s.inputs[:4]
    zeros = []
    for number, zero, dtype in ((2, x_zero, x.dtype), (3, w_zero, w.dtype)):
        if zero.name not in s.constants.arrays and _is_widened(s.call.args[number], dtype):
            zeros.append(s.reshape(s.cast(zero, dtype), []))
            continue
        numbers = s.tensor(number).extents
        several = numbers is None or prod(numbers) != 1
        if several and not (columns and number == 3):
            s.refuse("a zero point of several numbers, where extents are open")
        zeros.append(_narrow(s, zero, dtype, (-1,) if several else ()))
    return zeros[0], zeros[1]


def _narrow(s: OnnxSite, zero: Value, dtype: str, shape: tuple[int, ...] | None = None) -> Value:
    """A zero point that is a constant, as one of the data's dtype. Raises NoForm for one that is computed."""
    if zero.name not in s.constants.arrays:
        s.refuse("the shapes must be known where a zero point is computed")
    data, _ = s.constants.arrays[zero.name]
    return s.constant(data if shape is None else data.reshape(shape), dtype, "zero_point")


@form("qnn.conv2d")
@dataclass(frozen=True)
class Conv(Expansion):
    """`ConvInteger` of 8-bit integers with constant zero points, else integer arithmetic"""

    direct: ClassVar[bool] = True

    def expand(self, s: LegalizationSite) -> Expr | None:
        if not _fits(s):
            return integer_arithmetic(s)
        return in_plain_layout(s, PLAIN[spatial_rank(s.attrs.data_layout)][1])

    def emit(self, s: OnnxSite) -> Any:
        x, w = s.inputs[:2]
        attrs = s.attrs
        x_zero, w_zero = _zeros(s)
        shared: dict[str, Any] = {
            "kernel_shape": list(s.dims(1)[2:]),
            "strides": spread(attrs.strides, 2),
            "dilations": spread(attrs.dilation, 2),
            "pads": pads_of(attrs.padding, 2),
            "group": int(attrs.groups),
        }
        return convolved_integers(s, x, w, x_zero, w_zero, shared)


@form("qnn.dense", "qnn.batch_matmul")
@dataclass(frozen=True)
class Product(Expansion):
    """`MatMulInteger` of 8-bit integers with constant zero points, else integer arithmetic"""

    direct: ClassVar[bool] = True

    def expand(self, s: LegalizationSite) -> Expr | None:
        return None if _fits(s, s.attrs.name == "qnn.dense") else integer_arithmetic(s)

    def emit(self, s: OnnxSite) -> Any:
        x_zero, w_zero = _zeros(s, s.attrs.name == "qnn.dense")
        if s.attrs.name == "qnn.dense":
            a, b = s.inputs[0], swapped(s, 1)
        else:
            a = swapped(s, 0) if s.attrs.transpose_a else s.inputs[0]
            b = swapped(s, 1) if s.attrs.transpose_b else s.inputs[1]
        return s.node("MatMulInteger", a, b, x_zero, w_zero, dtype="int32")


@form("qnn.dequantize")
@dataclass(frozen=True)
class Dequantize(Expansion):
    """`DequantizeLinear` of 8-bit integers with constant zero points, of int32 with zero points 0, else `Sub`, `Mul`"""

    direct: ClassVar[bool] = True

    def expand(self, s: LegalizationSite) -> Expr | None:
        data = s.tensor(0)
        zero = s.args[2]
        narrow = data.dtype in _BYTES
        exact = (
            (narrow or data.dtype == "int32")
            and isinstance(s.type, TensorType)
            and s.type.dtype == "float32"
            and isinstance(zero, Constant)
            and isinstance(zero.data, np.ndarray)
            and s.tensor(1).shape == s.tensor(2).shape
            and bool((np.iinfo(data.dtype).min <= zero.data).all() and (zero.data <= np.iinfo(data.dtype).max).all())
            and (narrow or not zero.data.any())
        )
        return None if exact else integer_arithmetic(s)

    def emit(self, s: OnnxSite) -> Any:
        x = s.inputs[0]
        scale, zero, axis = _parameters(s)
        narrow = _narrow(s, zero, x.dtype) if x.dtype in _BYTES else None
        return s.node("DequantizeLinear", x, scale, narrow, dtype="float32", axis=axis)


def _parameters(s: OnnxSite) -> tuple[Value, Value, int | None]:
    """Scale and zero point of a call, scalars for all elements or vectors along an axis."""
    _, scale, zero = s.inputs
    rank = len(s.tensor(0).shape)
    axis = s.attrs.axis % rank if rank else 0
    if s.dims(1) == (1,) and (not rank or s.dims(0)[axis] != 1):
        scale = s.reshape(scale, [])
        zero = s.constant(s.constants.arrays[zero.name][0].reshape(()), zero.dtype)
    return scale, zero, axis if s.dims(1) else None


@decomposed("products and shifts in `int64`, halves rounded up", "fixed_point_multiply_per_axis")
def fixed_point_multiply_per_axis(s: OnnxSite) -> Value:
    x, multiplier, left, right = s.inputs
    axes, shape = list(s.attrs.axes), [1] * len(s.tensor(0).shape)
    for a in axes:
        shape[a] = s.dims(0)[a]
    order = sorted(range(len(axes)), key=lambda i: axes[i])
    factor, more, less = (s.reshape(s.transpose(s.cast(v, "int64"), order), shape) for v in (multiplier, left, right))
    wide = s.cast(x, "int64")
    if s.attrs.is_lshift_required:
        wide = s.mul(wide, _power(s, more))
    total = s.add(less, s.constant(31, "int64"))
    shift = s.node("Min", total, s.constant(62, "int64"))
    half = _power(s, s.sub(shift, s.constant(1, "int64")))
    shifted = floor_divided(s, s.add(s.mul(wide, factor), half), _power(s, shift))
    nothing = s.compare("Greater", total, s.constant(62, "int64"))
    return s.cast(s.where(nothing, s.constant(0, "int64"), shifted), s.out.dtype)


@decomposed("products and shifts in `int64`, rounded twice", "qnn.rescale")
def rescale(s: OnnxSite) -> Value:
    x, multiplier, shift = s.inputs
    rank = len(s.tensor(0).shape)
    axis = s.attrs.axis % rank if rank else 0
    factor, places = (
        along(s, s.cast(v, "int64"), axis, rank) if s.dims(i) else s.cast(v, "int64")
        for i, v in ((1, multiplier), (2, shift))
    )
    zero, one = s.constant(0, "int64"), s.constant(1, "int64")
    left = s.node("Max", places, zero)
    right = s.node("Min", s.node("Max", s.sub(zero, places), zero), s.constant(31, "int64"))
    product = s.mul(s.mul(s.cast(x, "int64"), _power(s, left)), factor)
    high = floor_divided(s, s.add(product, s.constant(1 << 30, "int64")), s.constant(1 << 31, "int64"))
    divisor = _power(s, right)
    half = floor_divided(s, divisor, s.constant(2, "int64"))
    less = s.where(s.compare("Less", high, zero), s.node("Min", right, one), zero)
    return s.cast(floor_divided(s, s.sub(s.add(high, half), less), divisor), "int32")


def _power(s: OnnxSite, exponent: Value) -> Value:
    shifted = s.node("BitShift", s.constant(1, "uint64"), s.cast(exponent, "uint64"), direction="LEFT")
    return s.cast(shifted, "int64")


_CODES = {1: "int8", 2: "uint8", 3: "int32"}


@decomposed(
    "`Div`, rounding, `Add`, `Clip` in floating point, if the dtype code is a constant", "qnn.simulated_quantize"
)
def simulated_quantize(s: OnnxSite) -> Value:
    from .unary import rounded_away

    x = s.inputs[0]
    dtype, scale, zero = _simulated(s)
    if not dtype:
        return x
    info = np.iinfo(dtype)
    moved = s.add(rounded_away(s, s.div(x, scale)), zero)
    return s.node("Max", s.node("Min", moved, s.scalar(int(info.max), x)), s.scalar(int(info.min), x))


@decomposed("`Sub`, `Mul`, if the dtype code is a constant", "qnn.simulated_dequantize")
def simulated_dequantize(s: OnnxSite) -> Value:
    x = s.inputs[0]
    dtype, scale, zero = _simulated(s)
    return s.mul(s.sub(x, zero), scale) if dtype else x


def _simulated(s: OnnxSite) -> tuple[str, Value, Value]:
    """The dtype that the code stands for, and scale and zero point along the axis, cycled over the channels."""
    from .indexing import known_numbers

    x, code, *parameters = s.inputs
    rank = len(s.tensor(0).shape)
    axis = s.attrs.axis % rank if rank else 0
    simulation = []
    for index, v in enumerate(parameters, 2):
        v = s.cast(v, x.dtype)
        count = s.dims(index)
        if count:
            channels = s.dims(0)[axis] if rank else 1
            v = s.node("Gather", v, s.ints(*(i % count[0] for i in range(channels))), axis=0)
            v = along(s, v, axis, rank) if rank else s.reshape(v, [])
        simulation.append(v)
    return _CODES.get(known_numbers(s, code)[0], ""), simulation[0], simulation[1]
