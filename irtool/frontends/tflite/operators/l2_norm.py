"""Rows of quantized tensors divided by their length, in fixed point."""

from __future__ import annotations

from ...onnx.arithmetic import cast
from ...onnx.value import Value, apply
from ..fixed_point import bit_length, divided, doubled_product, saturated, wide
from ..operator import Operand
from ..quantities import limited, number, offset, plus

_NEWTON_STEPS = 5


def normalized(x: Operand) -> Value:
    """`x / sqrt(sum(x * x))` along the last axis in steps of 1 / 128, as the kernels compute it."""
    data = offset(x)
    squares = apply("multiply", data, data).call("sum", axis=[-1], keepdims=True)
    inverse, right = _inverse_root(cast(squares, "int64"))
    seven, zero_bits = wide(7), wide(0)
    # Of int8 the factor 128 is a part of the multiplier's shift, of uint8 of the number.
    left = apply("maximum", apply("subtract", seven, right), zero_bits) if x.dtype == "int8" else seven
    rest = apply("maximum", apply("subtract", right, seven), zero_bits) if x.dtype == "int8" else right
    product = doubled_product(apply("left_shift", cast(data, "int64"), left), inverse)
    steps = cast(divided(product, rest), "int32")
    zero, low, high = (0, -128, 127) if x.dtype == "int8" else (128, 0, 255)
    return cast(limited(plus(steps, zero), low, high), x.dtype)


def _inverse_root(x: Value) -> tuple[Value, Value]:
    """`GetInvSqrtQuantizedMultiplierExp` of positive integers: a multiplier, and the shift to the right behind it."""
    is_small = x.call("less_equal", wide(1))
    bits = bit_length(x)
    # One more quarter for each two bits above 29; then as many pairs of bits to the left as leave a sign and two bits.
    quarters = apply("right_shift", apply("maximum", plus(bits, -28), number(0)), number(1))
    quarters = apply("where", bits.call("less_equal", number(29)), number(0), quarters)
    small = apply("right_shift", x, cast(apply("multiply", quarters, number(2)), "int64"))
    pairs = plus(apply("right_shift", apply("subtract", number(31), bit_length(small)), number(1)), -1)
    fixed = apply("left_shift", small, cast(apply("multiply", pairs, number(2)), "int64"))
    half = apply("right_shift", fixed, wide(1))
    half = divided(half, wide(1))
    root = wide(1 << 28)
    for _ in range(_NEWTON_STEPS):
        cube = saturated(apply("left_shift", doubled_product(doubled_product(root, root), root), wide(6)))
        difference = apply("subtract", doubled_product(wide(0x18000000), root), doubled_product(half, cube))
        root = saturated(apply("left_shift", difference, wide(3)))
    root = doubled_product(root, wide(1518500250))
    right = cast(plus(apply("subtract", quarters, pairs), 11), "int64")
    behind = apply("maximum", apply("negative", right), wide(0))
    inverse = apply("left_shift", root, behind)
    most = wide((1 << 31) - 1)
    return apply("where", is_small, most, inverse), apply("where", is_small, wide(0), apply("maximum", right, wide(0)))
