"""Values rounded, wrapped or limited to those of a narrow element type."""

from __future__ import annotations

from dataclasses import replace

from ...diagnostics import IrError
from .elements import Narrow
from .mistakes import DamagedModel
from .value import Value, apply


def narrowed(x: Value, to: Narrow, saturate: bool = True, round_mode: str = "up") -> Value:
    """The elements as those of the narrow type, in the dtype that holds them.

    Integers keep their lowest bits; floats are rounded to nearest, ties to even, and limited to the largest value, or without
    `saturate` become the type's value for overflow. `round_mode` is that of float8e8m0, whose values are powers of two.
    """
    if not to.is_float:
        result = _lowest_bits(x, to)
    elif to.mantissa == 0:
        result = _power(_as_float(x), to, saturate, round_mode)
    else:
        result = _rounded(_as_float(x), to, saturate)
    return replace(result, narrow=to)


def limited(x: Value, to: Narrow) -> Value:
    """Integers limited to the range of the narrow type."""
    low, high = to.range
    return replace(x.call("clip", a_min=float(low), a_max=float(high)), narrow=to)


def _as_float(x: Value) -> Value:
    return x if x.dtype == "float32" else x.call("cast", dtype="float32")


def _lowest_bits(x: Value, to: Narrow) -> Value:
    whole = x if x.dtype == "int32" else x.call("cast", dtype="int32")
    if to.storage_dtype == "uint8":
        return whole.call("bitwise_and", _int(to.range[1])).call("cast", dtype=to.storage_dtype)
    shift = _int(32 - to.bits)
    return whole.call("left_shift", shift).call("right_shift", shift).call("cast", dtype=to.storage_dtype)


def _int(number: int) -> Value:
    return Value.constant(number, "int32")


def _float(number: float) -> Value:
    return Value.constant(number, "float32")


_BITS = 23
"""Bits behind the point of a float32."""
_BIAS = 127


def _rounded(x: Value, to: Narrow, saturate: bool) -> Value:
    """A sum with a number whose last bit is the last that the narrow type keeps, and its difference, round the rest away."""
    assert to.mantissa is not None
    size = x.call("abs").call("minimum", _float(4 * to.largest))
    exponent = size.call("reinterpret", dtype="int32").call("right_shift", _int(_BITS))
    exponent = exponent.call("maximum", _int(to.least + _BIAS)).call("minimum", _int(200))  # that of NaN is no exponent
    edge = exponent.call("add", _int(_BITS - to.mantissa)).call("left_shift", _int(_BITS))
    edge = edge.call("reinterpret", dtype="float32")
    rounded = size.call("add", edge).call("subtract", edge)
    if saturate or to.bits < 8:
        rounded = rounded.call("minimum", _float(to.largest))
    else:
        rounded = apply("where", rounded.call("greater", _float(to.largest)), _float(to.beyond), rounded)
    # A type of 4 bits has no NaN: it becomes 0, as in ONNX's own evaluator.
    rounded = apply("where", x.call("isnan"), x if to.bits == 8 else _float(0), rounded)
    if not to.signed_zero:
        return apply("where", x.call("less", _float(0)), rounded.call("negative"), rounded).call("add", _float(0))
    below = x.call("reinterpret", dtype="int32").call("less", _int(0))
    return apply("where", below, rounded.call("negative"), rounded)


def _power(x: Value, to: Narrow, saturate: bool, round_mode: str) -> Value:
    """A power of two: that above, that below, or the nearest one."""
    if round_mode not in ("up", "down", "nearest"):
        raise IrError(f"round_mode is {round_mode}; it can be up, down or nearest", code=DamagedModel)
    bits = x.call("reinterpret", dtype="int32")
    added = {"up": (1 << _BITS) - 1, "down": 0, "nearest": 1 << _BITS - 1}[round_mode]
    exponent = bits.call("add", _int(added)).call("right_shift", _int(_BITS))
    power = exponent.call("left_shift", _int(_BITS)).call("reinterpret", dtype="float32")
    rounded = apply("where", exponent.call("greater", _int(0)), power, _float(2.0**to.least))
    if saturate:
        rounded = rounded.call("minimum", _float(to.largest))
    else:
        fits = x.call("greater", _float(0)).call("logical_and", rounded.call("less_equal", _float(to.largest)))
        rounded = apply("where", fits, rounded, _float(float("nan")))
    return apply("where", x.call("isnan"), x, rounded)
