"""The operations of loop nests on numpy arrays, as `docs/language.md` defines them: integers wrap, division by 0 gives 0."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...deferred import late, np
from ...ops.conversion import convert
from ...ops.dtypes import numpy_dtype
from ...ops.erf import erf, erfc
from ...ops.unary import round_half_away
from ...tir.bf16_dot import DOT_PAIR, PACK_PAIR
from ...tir.expr import Binary, Call, Cast, Expr, Not, Select
from ...tir.int8_dot import ALL_DOTS, LONG, PACKS, steps_of, word_dtype
from ...tir.int16_dot import DOT_WIDE, PACK_WIDE
from ...tir.intrinsics import LEAST_EXPONENT, PRODUCT

Function = Callable[..., Any]


def _divided(a: Any, b: Any) -> Any:
    """`a / b` towards zero; 0 if `b` is 0."""
    return np.floor_divide(np.subtract(a, np.fmod(a, b)), b)


def _smaller(a: Any, b: Any) -> Any:
    return np.where(np.less(a, b), a, b)


def _larger(a: Any, b: Any) -> Any:
    return np.where(np.greater(a, b), a, b)


_INTEGER: Mapping[str, Function] = {
    "+": late.add,
    "-": late.subtract,
    "*": late.multiply,
    "floordiv": late.floor_divide,
    "floormod": late.mod,
    "truncdiv": _divided,
    "truncmod": late.fmod,
    "min": late.minimum,
    "max": late.maximum,
    "minimum": late.minimum,
    "maximum": late.maximum,
    "<<": late.left_shift,
    ">>": late.right_shift,
    "&": late.bitwise_and,
    "|": late.bitwise_or,
    "^": late.bitwise_xor,
}
_FLOAT: Mapping[str, Function] = {
    "+": late.add,
    "-": late.subtract,
    "*": late.multiply,
    "/": late.divide,
    "truncdiv": lambda a, b: np.trunc(np.divide(a, b)),
    "truncmod": late.fmod,
    "min": _smaller,
    "max": _larger,
    "minimum": late.minimum,
    "maximum": late.maximum,
}
_BOOLEAN: Mapping[str, Function] = {
    "and": late.logical_and,
    "or": late.logical_or,
    "<": late.less,
    "<=": late.less_equal,
    "==": late.equal,
    "!=": late.not_equal,
    "&": late.logical_and,
    "|": late.logical_or,
    "^": late.logical_xor,
    "min": late.logical_and,
    "max": late.logical_or,
    "minimum": late.logical_and,
    "maximum": late.logical_or,
}

REDUCTIONS = {"+": "add", "*": "multiply", "and": "logical_and", "or": "logical_or"}
"""Operations that numpy does along a whole axis at once, and numpy's names."""


def reduced(op: str, values: Any) -> Any:
    """The first axis combined by one of `REDUCTIONS`."""
    return getattr(np, REDUCTIONS[op]).reduce(values, axis=0, dtype=values.dtype)


def _whole(f: Function) -> Function:
    return lambda x, *more: f(x, *more).astype(x.dtype, copy=False)


_CALLS: Mapping[str, Function] = {
    **{n: getattr(late, n) for n in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos")},
    **{
        n: getattr(late, n)
        for n in ("tan", "sinh", "cosh", "tanh", "floor", "ceil", "trunc", "fmod", "hypot", "copysign")
    },
    **{n: getattr(late, n) for n in ("nextafter", "isnan", "isinf", "isfinite")},
    "asin": late.arcsin,
    "acos": late.arccos,
    "atan": late.arctan,
    "asinh": late.arcsinh,
    "acosh": late.arccosh,
    "atanh": late.arctanh,
    "atan2": late.arctan2,
    PRODUCT: late.multiply,
    "nearbyint": late.rint,
    "fabs": late.abs,
    "round": round_half_away,
    "erf": erf,
    "erfc": erfc,
    "rsqrt": lambda x: x.dtype.type(1) / np.sqrt(x),
    "flushed_exp": lambda x: np.where(x < LEAST_EXPONENT, x.dtype.type(0), np.exp(np.maximum(x, LEAST_EXPONENT))),
    "sigmoid": lambda x: x.dtype.type(1) / (x.dtype.type(1) + np.exp(-x)),
    "exp10": lambda x: np.power(x.dtype.type(10), x),
}


def _power(a: Any, b: Any) -> Any:
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind not in "iu":
        return np.power(a, b)
    whole = np.power(a, np.maximum(b, 0))
    inverse = np.where(a == 1, 1, np.where((a == -1) & (b % 2 == 0), 1, np.where(a == -1, -1, 0)))
    return np.where(b >= 0, whole, inverse).astype(a.dtype)


def _bits(x: Any, dtype: str) -> Any:
    """The bits of integers as unsigned numbers."""
    x = np.asarray(x)
    return x.view(np.dtype(f"u{x.dtype.itemsize}")) if x.dtype.kind == "i" else x


def _popcount(x: Any, dtype: str) -> Any:
    bits = _bits(x, dtype)
    count = np.zeros(bits.shape, bits.dtype)
    for n in range(8 * bits.dtype.itemsize):
        count = count + ((bits >> bits.dtype.type(n)) & bits.dtype.type(1))
    return count.astype(numpy_dtype(dtype))


def _leading_zeros(x: Any, dtype: str) -> Any:
    bits = _bits(x, dtype)
    width = 8 * bits.dtype.itemsize
    result = np.full(bits.shape, width, np.int32)
    for n in range(width):
        result = np.where((bits >> bits.dtype.type(n)) & bits.dtype.type(1), np.int32(width - 1 - n), result)
    return result


def _packed(*numbers: Any) -> Any:
    whole: Any = np.uint64 if len(numbers) == LONG else np.uint32
    word: Any = whole(0)
    for n, x in enumerate(numbers):
        word = word | (np.asarray(x).astype(np.uint8).astype(whole) << whole(8 * n))
    return np.asarray(word).astype(word_dtype(len(numbers)))


def _dotted(a: Any, b: Any, steps: int, signs: tuple[str, str]) -> Any:
    whole: Any = np.uint64 if steps == LONG else np.uint32
    total: Any = np.int32(0)
    for n in range(steps):
        x, y = (
            (np.asarray(w).astype(whole) >> whole(8 * n)).astype(np.uint8).astype(numpy_dtype(d)).astype(np.int32)
            for w, d in zip((a, b), signs)
        )
        total = total + x * y
    return total


def _paired(a: Any, b: Any) -> Any:
    low, high = (np.ascontiguousarray(x).view(np.uint16).astype(np.uint32).reshape(np.shape(x)) for x in (a, b))
    return np.asarray(low | (high << np.uint32(16))).astype(np.int32)


def _dotted_pairs(a: Any, b: Any) -> Any:
    packed = [np.ascontiguousarray(w).astype(np.int32).view(np.uint32).reshape(np.shape(w)) for w in (a, b)]
    (a1, b1), (a0, b0) = (
        tuple(np.ascontiguousarray(x).view(np.float32).reshape(np.shape(x)) for x in half)
        for half in ([w & np.uint32(0xFFFF0000) for w in packed], [w << np.uint32(16) for w in packed])
    )
    return a1 * b1 + a0 * b0


def _packed_wide(a: Any, b: Any) -> Any:
    low, high = (np.asarray(x).astype(np.int16).view(np.uint16).astype(np.uint32) for x in (a, b))
    return np.asarray(low | (high << np.uint32(16))).view(np.int32)


def _dotted_wide(a: Any, b: Any) -> Any:
    packed = [np.asarray(w).astype(np.int64) for w in (a, b)]
    (a0, b0), (a1, b1) = [(w << 48) >> 48 for w in packed], [w >> 16 for w in packed]
    return (a0 * b0 + a1 * b1).astype(np.int32)


def function_of(e: Expr) -> Function:
    """An operation as a function of the arrays of its operands."""
    if isinstance(e, Binary):
        kind = numpy_dtype(e.a.dtype).kind
        table = _BOOLEAN if e.dtype == "bool" else _INTEGER if kind in "iu" else _FLOAT
        return table[e.op]
    if isinstance(e, Not):
        return np.logical_not
    if isinstance(e, Cast):
        dtype = e.dtype
        return lambda x: convert(x, dtype)
    if isinstance(e, Select):
        return np.where
    assert isinstance(e, Call)
    dtype = e.dtype
    if e.name == "reinterpret":
        return lambda x: np.ascontiguousarray(x).view(numpy_dtype(dtype)).reshape(np.shape(x))
    if e.name == "popcount":
        return lambda x: _popcount(x, dtype)
    if e.name == "clz":
        return lambda x: _leading_zeros(x, dtype)
    if e.name == "pow":
        return _power
    if e.name in PACKS:
        return _packed
    if e.name == PACK_PAIR:
        return _paired
    if e.name == DOT_PAIR:
        return _dotted_pairs
    if e.name == PACK_WIDE:
        return _packed_wide
    if e.name == DOT_WIDE:
        return _dotted_wide
    if e.name in ALL_DOTS:
        steps, signs = steps_of(e.name), ALL_DOTS[e.name]
        return lambda a, b: _dotted(a, b, steps, signs)
    return _whole(_CALLS[e.name]) if dtype != "bool" else _CALLS[e.name]
