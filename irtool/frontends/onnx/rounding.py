"""Rounding as ONNX does it: Relay's `round` takes a half away from zero, ONNX to the even number."""

from __future__ import annotations

from .value import Value, apply


def round_half_even(x: Value) -> Value:
    """Whole numbers nearest to those of a floating-point tensor; a half goes to the even one."""

    def number(value: float) -> Value:
        return Value.constant(value, x.dtype)

    half = apply("equal", apply("abs", apply("subtract", x, x.call("trunc"))), number(0.5))
    even = apply("multiply", apply("multiply", x, number(0.5)).call("round"), number(2.0))
    return apply("where", half, even, x.call("round"))
