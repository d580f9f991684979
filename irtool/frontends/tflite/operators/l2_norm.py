"""Rows of quantized tensors divided by their length, in fixed point."""

from __future__ import annotations

from ....deferred import np
from ...onnx.arithmetic import cast
from ...onnx.value import Value, apply
from ..operator import Operand
from ..quantities import limited, number, offset, plus

_NEWTON_STEPS = 5


def normalized(x: Operand) -> Value:
    """`x / sqrt(sum(x * x))` along the last axis in steps of 1 / 128, as the kernels compute it."""
    data = offset(x)
    squares = apply("multiply", data, data).call("sum", axis=[-1], keepdims=True)
    inverse, right = _inverse_root(cast(squares, "int64"))
    seven, zero_bits = _wide(7), _wide(0)
    # Of int8 the factor 128 is a part of the multiplier's shift, of uint8 of the number.
    left = apply("maximum", apply("subtract", seven, right), zero_bits) if x.dtype == "int8" else seven
    rest = apply("maximum", apply("subtract", right, seven), zero_bits) if x.dtype == "int8" else right
    product = _doubled(apply("left_shift", cast(data, "int64"), left), inverse)
    steps = cast(_divided(product, rest), "int32")
    zero, low, high = (0, -128, 127) if x.dtype == "int8" else (128, 0, 255)
    return cast(limited(plus(steps, zero), low, high), x.dtype)


def _inverse_root(x: Value) -> tuple[Value, Value]:
    """`GetInvSqrtQuantizedMultiplierExp` of positive integers: a multiplier, and the shift to the right behind it."""
    is_small = x.call("less_equal", _wide(1))
    bits = _bit_length(x)
    # One more quarter for each two bits above 29; then as many pairs of bits to the left as leave a sign and two bits.
    quarters = apply("right_shift", apply("maximum", plus(bits, -28), number(0)), number(1))
    quarters = apply("where", bits.call("less_equal", number(29)), number(0), quarters)
    small = apply("right_shift", x, cast(apply("multiply", quarters, number(2)), "int64"))
    pairs = plus(apply("right_shift", apply("subtract", number(31), _bit_length(small)), number(1)), -1)
    fixed = apply("left_shift", small, cast(apply("multiply", pairs, number(2)), "int64"))
    half = apply("right_shift", fixed, _wide(1))
    half = _divided(half, _wide(1))
    root = _wide(1 << 28)
    for _ in range(_NEWTON_STEPS):
        cube = _limited(apply("left_shift", _doubled(_doubled(root, root), root), _wide(6)))
        difference = apply("subtract", _doubled(_wide(0x18000000), root), _doubled(half, cube))
        root = _limited(apply("left_shift", difference, _wide(3)))
    root = _doubled(root, _wide(1518500250))
    right = cast(plus(apply("subtract", quarters, pairs), 11), "int64")
    behind = apply("maximum", apply("negative", right), _wide(0))
    inverse = apply("left_shift", root, behind)
    most = _wide((1 << 31) - 1)
    return apply("where", is_small, most, inverse), apply(
        "where", is_small, _wide(0), apply("maximum", right, _wide(0))
    )


def _bit_length(x: Value) -> Value:
    """The bits of positive integers: the number of powers of two that each reaches."""
    powers = Value.constant(np.int64(1) << np.arange(32))
    return cast(x.call("greater_equal", powers), "int32").call("sum", axis=[-1], keepdims=True)


def _doubled(a: Value, b: Value) -> Value:
    """`a * b / 2**31`, a half up."""
    return apply("right_shift", apply("add", apply("multiply", a, b), _wide(1 << 30)), _wide(31))


def _divided(x: Value, bits: Value) -> Value:
    """`x / 2**bits`, a half away from zero."""
    half = apply("right_shift", apply("left_shift", _wide(1), bits), _wide(1))
    is_less = apply("logical_and", x.call("less", _wide(0)), bits.call("greater", _wide(0)))
    less = apply("where", is_less, _wide(1), _wide(0))
    return apply("right_shift", apply("subtract", apply("add", x, half), less), bits)


def _limited(x: Value) -> Value:
    return apply("minimum", apply("maximum", x, _wide(-(1 << 31))), _wide((1 << 31) - 1))


def _wide(value: int) -> Value:
    return Value.constant(np.int64(value))
