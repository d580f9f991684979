"""Quantized operators as targets like them: tables for unary functions, matching types for products."""

from __future__ import annotations

from collections.abc import Callable

from ...deferred import np
from ...diagnostics import IrError
from ...ir import Constant, Expr, MissingData
from ...ir.target import Target
from ...ops.base import attributes_of, call
from ...ops.qnn.fixed_point import limits
from ..core.arithmetic import add, multiply, subtract
from ..core.constants import array_constant, scalar_constant
from ..core.x86_processors import has_sse42
from .qnn_products import grouped_terms
from .quantities import cast, int32, is_scalar, is_zero, number
from .rule import QNN_LEGALIZE, LegalizationSite, legalization

_LEAST_CHANNELS = 3
"""Fewer are no sum for dot products."""


def _table(s: LegalizationSite, function: Callable[[np.ndarray], np.ndarray]) -> Expr:
    """A look-up table of the function at every quantized input."""
    from ...interp.evaluate import evaluate_expr

    x = s.args[0]
    dtype = s.tensor(0).dtype
    bits = np.dtype(dtype).itemsize * 8
    names = ("scale", "zero point", "output scale", "output zero point")
    scale, zero, out_scale, out_zero = [
        number(a, f"{n} of {s.attrs.name}") for a, n in zip(s.args[1:], names, strict=True)
    ]
    inputs = array_constant(np.arange(2**bits).astype(f"uint{bits}").view(dtype), dtype)
    real = evaluate_expr(call("qnn.dequantize", inputs, _float(scale), int32(int(zero)), axis=-1))
    with np.errstate(all="ignore"):
        image = array_constant(np.asarray(function(real), "float32"), "float32")
    quantized = evaluate_expr(
        call("qnn.quantize", image, _float(out_scale), int32(int(out_zero)), axis=-1, out_dtype=dtype)
    )
    index = call("reinterpret", x, dtype=f"uint{bits}")
    return call("take", array_constant(np.asarray(quantized), dtype), index, axis=0, mode="fast")


def _float(value: float) -> Constant:
    return scalar_constant(value, "float32")


def _erf(x: np.ndarray) -> np.ndarray:
    return np.asarray(_vectorized_erf(x.astype("float64")))


def _vectorized_erf(x: np.ndarray) -> np.ndarray:
    import math

    return np.array([math.erf(v) for v in x.ravel()]).reshape(x.shape)


@legalization(QNN_LEGALIZE, "qnn.sqrt")
def sqrt(s: LegalizationSite) -> Expr:
    """√x by table."""
    return _table(s, np.sqrt)


@legalization(QNN_LEGALIZE, "qnn.rsqrt")
def rsqrt(s: LegalizationSite) -> Expr:
    """1 / √x by table."""
    return _table(s, lambda x: 1 / np.sqrt(x))


@legalization(QNN_LEGALIZE, "qnn.exp")
def exp(s: LegalizationSite) -> Expr:
    """exp x by table."""
    return _table(s, np.exp)


@legalization(QNN_LEGALIZE, "qnn.erf")
def erf(s: LegalizationSite) -> Expr:
    """erf x by table."""
    return _table(s, _erf)


@legalization(QNN_LEGALIZE, "qnn.sigmoid")
def sigmoid(s: LegalizationSite) -> Expr:
    """1 / (1 + exp -x) by table."""
    return _table(s, lambda x: 1 / (1 + np.exp(-x)))


@legalization(QNN_LEGALIZE, "qnn.hardswish")
def hardswish(s: LegalizationSite) -> Expr:
    """x clip(x + 3, 0, 6) / 6 by table."""
    return _table(s, lambda x: x * np.clip(x + 3.0, 0.0, 6.0) / 6.0)


@legalization(QNN_LEGALIZE, "qnn.tanh")
def tanh(s: LegalizationSite) -> Expr:
    """tanh x by table."""
    return _table(s, np.tanh)


@legalization(QNN_LEGALIZE, "qnn.log")
def log(s: LegalizationSite) -> Expr:
    """log x by table."""
    return _table(s, np.log)


@legalization(QNN_LEGALIZE, "qnn.abs")
def absolute(s: LegalizationSite) -> Expr:
    """|x| by table."""
    return _table(s, np.abs)


@legalization(QNN_LEGALIZE, "qnn.conv2d_transpose")
def conv2d_transpose(s: LegalizationSite) -> Expr:
    """Bytes, if products of them are fast and their zero points are 0, or the least number of int8, from which data are
    counted in uint8; else both operands minus their zero points in int16, or in more bits where it takes more."""
    if s.native and _has_byte_products(s, "nn.conv2d_transpose"):
        data, weight, zero = s.args[:3]
        if number(zero, "zero point"):
            data, _ = _moved(data, zero, "uint8")
        return call("nn.conv2d_transpose", data, weight, **attributes_of(s.attrs))
    return _less_zero_points(s, "nn.conv2d_transpose")


def _less_zero_points(s: LegalizationSite, op: str) -> Expr:
    """For processors without fast 8-bit products: both operands minus their zero points, in integers that hold these."""
    dtype = max((_dtype_of_differences(s.tensor(i).dtype, s.args[i + 2]) for i in range(2)), key=lambda t: limits(t)[1])
    axis = s.attrs.kernel_layout.index("O") if hasattr(s.attrs, "kernel_layout") else 0

    def shifted(index: int) -> Expr:
        operand, zero = cast(s.args[index], dtype), cast(s.args[index + 2], dtype)
        shape = s.tensor(index + 2).shape
        if not shape or (shape == (1,) and s.tensor(index).shape[axis] != 1):
            return subtract(operand, zero)
        return call("nn.bias_add", operand, call("negative", zero), axis=axis)

    return call(op, shifted(0), shifted(1), **attributes_of(s.attrs))


def _dtype_of_differences(dtype: str, zero: Expr) -> str:
    """The narrowest type, int16 at least, of the numbers of a dtype minus a zero point; one that is unknown is taken for a
    number of that dtype."""
    low, high = limits(dtype)
    least, greatest = low, high
    if isinstance(zero, Constant) and not isinstance(zero.data, MissingData) and zero.data.size:
        least, greatest = int(zero.data.min()), int(zero.data.max())
    for wide in ("int16", "int32"):
        lowest, highest = limits(wide)
        if lowest <= min(low - greatest, least) and max(high - least, greatest, -least) <= highest:
            return wide
    return "int64"


def _moved(e: Expr, zero: Expr, dtype: str) -> tuple[Expr, Expr]:
    """A tensor and its zero point shifted by 128 into the other 8-bit type."""
    shift = 128 if dtype == "uint8" else -128
    moved = cast(add(cast(e, "int32"), int32(shift)), dtype)
    if isinstance(zero, Constant):
        return moved, int32(int(number(zero, "zero point")) + shift)
    return moved, add(zero, int32(shift))


def _as_types(s: LegalizationSite, data_type: str, weight_type: str) -> Expr | None:
    """The same quantized operator with operands of these types; None if they have them already, or are of more bits."""
    data, weight, data_zero, weight_zero, *scales = s.args
    now = s.tensor(0).dtype, s.tensor(1).dtype
    if now == (data_type, weight_type) or not {*now} <= {"int8", "uint8"}:
        return None
    if now[0] != data_type:
        data, data_zero = _moved(data, data_zero, data_type)
    if now[1] != weight_type:
        weight, weight_zero = _moved(weight, weight_zero, weight_type)
    return call(s.attrs.name, data, weight, data_zero, weight_zero, *scales, **attributes_of(s.attrs))


def _alike(s: LegalizationSite) -> Expr | None:
    """The same operator with both operands of the weights' type."""
    if s.tensor(0).dtype == s.tensor(1).dtype or not {s.tensor(0).dtype, s.tensor(1).dtype} <= {"int8", "uint8"}:
        return None
    if not is_scalar(s.args[2]):
        raise IrError(f"the zero point of {s.attrs.name} must be a constant scalar", s.call.span)
    return _as_types(s, s.tensor(1).dtype, s.tensor(1).dtype)


def _for_target(s: LegalizationSite, op: str) -> Expr | None:
    target = s.target
    if target is None or (s.native and _has_byte_products(s, op)):
        return None
    if "arm_cpu" in target.keys:
        return _for_arm(s, op, target)
    if target.kind == "vulkan":
        return _alike(s)
    if target.kind in ("cuda", "rocm"):
        return _as_types(s, "int8", "int8")
    if "cpu" not in target.keys:
        return None
    if has_sse42(target.option("mcpu")):
        return _as_types(s, "uint8", "int8")
    return _less_zero_points(s, op)


def _has_byte_products(s: LegalizationSite, op: str) -> bool:
    """True if canonicalization makes a product of 8-bit numbers of it, minus terms that are constant or cheap to sum."""
    zeros = s.args[2:4]
    if not {s.tensor(0).dtype, s.tensor(1).dtype} <= {"int8", "uint8"} or s.attrs.out_dtype != "int32":
        return False
    if not all(isinstance(z, Constant) and not isinstance(z.data, MissingData) and z.data.shape == () for z in zeros):
        return False
    if not (s.tensor(0).is_static and s.tensor(1).is_static):
        return False
    attrs = s.attrs
    if not hasattr(attrs, "kernel_layout"):
        return True  # a product of matrices
    if op == "nn.conv2d_transpose":
        channels = s.shape(0)[attrs.data_layout.index("C")] if len(attrs.data_layout) == 4 else 0
        if number(zeros[0], "zero point") not in (0, limits(s.tensor(0).dtype)[0]) or number(zeros[1], "zero point"):
            return False
        return attrs.groups == 1 and channels >= _LEAST_CHANNELS
    known = attrs.data_layout in ("NCHW", "NHWC") and attrs.kernel_layout in ("OIHW", "HWIO", "OHWI")
    if not known or s.shape(1)[attrs.kernel_layout.index("I")] < _LEAST_CHANNELS:
        return False
    if attrs.groups != 1:
        return attrs.channels != attrs.groups and number(zeros[1], "zero point") == 0
    return tuple(attrs.dilation) == (1, 1) or number(zeros[1], "zero point") == 0


def _for_arm(s: LegalizationSite, op: str, target: Target) -> Expr | None:
    features = target.option("mattr")
    has_simd = "aarch64" in target.option("mtriple") or "+neon" in features
    has_dot = "+v8.2a" in features and "+dotprod" in features
    if op == "nn.conv2d":
        depthwise = s.attrs.groups != 1 and s.attrs.channels == s.attrs.groups
        has_dot = has_dot or (not depthwise and s.attrs.data_layout == "NHWC")
    return _less_zero_points(s, op) if has_simd and not has_dot else _alike(s)


@legalization(QNN_LEGALIZE, "qnn.conv2d")
def conv2d(s: LegalizationSite) -> Expr | None:
    """The types that the target multiplies; bytes of groups of channels, if products of them are fast."""
    if s.native and s.attrs.groups != 1 and _has_byte_products(s, "nn.conv2d"):
        return grouped_terms(s)
    return _byte_windows(s) or _for_target(s, "nn.conv2d")


def _byte_windows(s: LegalizationSite) -> Expr | None:
    """The convolution of single channels on bytes, whose padding is zeros: that of data counted from their least number, in uint8. None for other
    convolutions, and for targets that do not read single bytes."""
    zeros, attrs = s.args[2:4], s.attrs
    is_single = attrs.groups != 1 and attrs.channels == attrs.groups
    if not s.reads_bytes or not is_single or not {s.tensor(0).dtype, s.tensor(1).dtype} <= {"int8", "uint8"}:
        return None
    if attrs.out_dtype != "int32" or not is_scalar(zeros[0]) or not is_zero(zeros[1]):
        return None
    data, zero = s.args[0], number(zeros[0], "zero point")
    if zero == limits(s.tensor(0).dtype)[0]:
        data = data if not zero else _moved(data, zeros[0], "uint8")[0]
    elif zero:
        return None
    return call("nn.conv2d", data, s.args[1], **attributes_of(attrs))


@legalization(QNN_LEGALIZE, "qnn.dense")
def dense(s: LegalizationSite) -> Expr | None:
    """The types that the target multiplies. Where products of bytes are fast, so are those of bytes counted from a number that only the
    run knows, as in dynamic quantization: that number times the sums of the weights, which are folded if these are constant."""
    data, weight, zero = s.args[:3]
    bytes_ = {s.tensor(0).dtype, s.tensor(1).dtype} <= {"int8", "uint8"} and s.attrs.out_dtype == "int32"
    computed = s.tensor(2).shape == () and not isinstance(zero, Constant) and is_zero(s.args[3])
    if s.native and bytes_ and computed and s.tensor(0).is_static and s.tensor(1).is_static:
        product = call("nn.dense", data, weight, units=s.attrs.units, out_dtype="int32")
        sums = call("sum", cast(weight, "int32"), axis=[1], keepdims=False, exclude=False)
        return subtract(product, multiply(zero, sums))
    return _for_target(s, "nn.dense")
