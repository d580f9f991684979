"""Pure functions of scalars that expressions may call, by name.

A float intrinsic takes and gives one float dtype; an integer argument is taken as float32. What a backend must know
about each is in its own table; this one fixes the names and the number of arguments.
"""

from __future__ import annotations

from . import dtypes
from .expr import Call, Const, Expr, Operand, as_expr, cast, const, match, maximum, select, sub

UNARY_FLOAT = [
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "rsqrt",
    "sigmoid",
    "erf",
    "erfc",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
]
"""Defined by mathematics; correct to a few units in the last place."""

LEAST_EXPONENT = -87.0
"""exp of less is, or is nearly, subnormal in single precision."""

FLUSHED = ["flushed_exp"]
"""`flushed_exp` is exp of a float32 up to 0, and 0 below `LEAST_EXPONENT`: a softmax needs no more, beside a 1 in each row. Of
numbers above 0 its value is unspecified."""

ROUNDING = ["floor", "ceil", "trunc", "round", "nearbyint"]
"""Identity on integers. `round` takes halves away from zero, `nearbyint` to even."""

BINARY_FLOAT = ["pow", "atan2", "fmod", "hypot", "copysign", "nextafter"]

PRODUCT = "product"
"""`product(x, y)` of float32 or float64 is `x * y`, rounded before anything is added to it: no backend makes a multiply-add of it."""

TESTS = ["isnan", "isinf", "isfinite"]
"""Of floats; constant on integers."""


def call(name: str, dtype: str, *args: Operand) -> Expr:
    """A call of the intrinsic `name` whose value has `dtype`."""
    return Call(name, tuple(as_expr(a) for a in args), dtype)


def _unary_float(name: str):
    def build(x: Operand) -> Expr:
        x = as_expr(x)
        if not dtypes.is_float(x.dtype):
            x = cast(x, "float32")
        return Call(name, (x,), x.dtype)

    build.__name__ = name
    build.__doc__ = f"`{name}` of a float."
    return build


def _rounding(name: str):
    def build(x: Operand) -> Expr:
        x = as_expr(x)
        return Call(name, (x,), x.dtype) if dtypes.is_float(x.dtype) else x

    build.__name__ = name
    build.__doc__ = f"`{name}`; an integer is left as it is."
    return build


def _binary_float(name: str):
    def build(x: Operand, y: Operand) -> Expr:
        x, y = match(x, y)
        if not dtypes.is_float(x.dtype):
            x, y = cast(x, "float32"), cast(y, "float32")
        return Call(name, (x, y), x.dtype)

    build.__name__ = name
    build.__doc__ = f"`{name}` of two floats."
    return build


def _test(name: str):
    def build(x: Operand) -> Expr:
        x = as_expr(x)
        if not dtypes.is_float(x.dtype):
            return const(name == "isfinite", "bool")
        return Call(name, (x,), "bool")

    build.__name__ = name
    build.__doc__ = f"`{name}` of a float, as a bool."
    return build


exp, exp2, exp10, expm1 = (_unary_float(n) for n in ("exp", "exp2", "exp10", "expm1"))
log, log2, log10, log1p = (_unary_float(n) for n in ("log", "log2", "log10", "log1p"))
sqrt, rsqrt, sigmoid, erf = (_unary_float(n) for n in ("sqrt", "rsqrt", "sigmoid", "erf"))
sin, cos, tan = (_unary_float(n) for n in ("sin", "cos", "tan"))
asin, acos, atan = (_unary_float(n) for n in ("asin", "acos", "atan"))
sinh, cosh, tanh = (_unary_float(n) for n in ("sinh", "cosh", "tanh"))
asinh, acosh, atanh = (_unary_float(n) for n in ("asinh", "acosh", "atanh"))
floor, ceil, trunc, nearbyint = (_rounding(n) for n in ("floor", "ceil", "trunc", "nearbyint"))
round = _rounding("round")
atan2, fmod, hypot, copysign, nextafter = (
    _binary_float(n) for n in ("atan2", "fmod", "hypot", "copysign", "nextafter")
)
isnan, isinf, isfinite = (_test(n) for n in TESTS)


def power(x: Operand, y: Operand) -> Expr:
    """`x` to the power `y`, in the dtype they are combined in; of integers by repeated multiplication, which wraps."""
    x, y = match(x, y)
    if isinstance(y, Const) and dtypes.is_float(x.dtype):
        if y.value == 1:
            return x
        if y.value == 2:
            return x * x
        if y.value == 0.5:
            return sqrt(x)
    return Call("pow", (x, y), x.dtype)


pow = power


def abs(x: Operand) -> Expr:
    """Magnitude."""
    x = as_expr(x)
    if x.dtype == "bool" or dtypes.is_unsigned(x.dtype):
        return x
    if dtypes.is_float(x.dtype):
        return Call("fabs", (x,), x.dtype)
    return maximum(x, sub(const(0, x.dtype), x))


def sign(x: Operand) -> Expr:
    """-1, 0 or 1; NaN of NaN."""
    x = as_expr(x)
    one, zero = const(1, x.dtype), const(0, x.dtype)
    below = select(x < zero, sub(zero, one), x if dtypes.is_float(x.dtype) else zero)
    return select(x > zero, one, below)


def popcount(x: Operand) -> Expr:
    """Number of set bits."""
    x = as_expr(x)
    return Call("popcount", (x,), x.dtype)


def clz(x: Operand) -> Expr:
    """Number of leading zero bits, as int32."""
    return Call("clz", (as_expr(x),), "int32")


def reinterpret(dtype: str, x: Operand) -> Expr:
    """The bits of `x` read as another dtype of the same width."""
    x = as_expr(x)
    if dtypes.bits(dtype) != dtypes.bits(x.dtype):
        raise TypeError(f"reinterpret {x.dtype} as {dtype}: widths differ")
    return x if x.dtype == dtype else Call("reinterpret", (x,), dtype)


def product(x: Operand, y: Operand) -> Expr:
    """`x * y`, rounded by itself; 16-bit floats are rounded after each operation anyhow."""
    x, y = match(x, y)
    return Call(PRODUCT, (x, y), x.dtype) if x.dtype in ("float32", "float64") else x * y


def likely(x: Operand) -> Expr:
    """`x` itself: a hint that is not needed here."""
    return as_expr(x)


def fma(x: Operand, y: Operand, z: Operand) -> Expr:
    """`x * y + z`, rounded once where the machine can."""
    return as_expr(x) * y + z


def max_value(dtype: str) -> Expr:
    """The largest finite value."""
    return const(dtypes.largest(dtype), dtype)


def min_value(dtype: str) -> Expr:
    """The lowest finite value."""
    return const(dtypes.lowest(dtype), dtype)


def infinity(dtype: str) -> Expr:
    """Positive infinity; the largest value of an integer dtype."""
    return const(float("inf"), dtype) if dtypes.is_float(dtype) else max_value(dtype)
