"""Reciprocals and inverse roots of integers in fixed point, as gemmlowp computes them."""

from __future__ import annotations

from typing import Any

from ...deferred import np
from ...ops.qnn.fixed_point import limits
from ..onnx.arithmetic import cast
from ..onnx.value import Value, apply
from .fixed_point import divided, doubled_product
from .model import Quantization
from .operator import Operand
from .quantities import multiplier_and_shift, number, offset, require_scalar, zero_of
from .tables import doubled_high_product, rounded_shift


def saturated_shift(x: Any, bits: int) -> Any:
    """`x * 2**bits` limited to 32 bits; rounded to the right."""
    if bits < 0:
        return rounded_shift(x, -bits)
    return np.clip(np.asarray(x, np.int64) << bits, -(1 << 31), (1 << 31) - 1)


def reciprocal_of_one_and(a: Any) -> Any:
    """`1 / (1 + a)` of numbers from 0 to 1 with 31 bits behind the point, by three steps of Newton's."""
    half_sum = (np.asarray(a, np.int64) + (1 << 31)) >> 1  # of a and one, which is 2^31 - 1: rounded half up
    x = np.int64(1515870810) + doubled_high_product(half_sum, -1010580540)  # 48/17 - 32/17 d, two bits before the point
    for _ in range(3):
        rest = (1 << 29) - doubled_high_product(half_sum, x)
        x = x + saturated_shift(doubled_high_product(x, rest), 2)
    return saturated_shift(x, 1)


def reciprocal(x: int) -> tuple[int, int]:
    """`GetReciprocal` of a positive integer: `(inverse, shift)`, with 31 integer bits."""
    headroom = 32 - x.bit_length()
    fraction = ((x << headroom) & 0xFFFFFFFF) - (1 << 31)
    return int(reciprocal_of_one_and(fraction)), 31 - headroom


def quotient(a: Operand, b: Operand, factor: float) -> Value:
    """Quotients of quantized tensors of 8 bits in steps of the output: by tables of reciprocals and of leading bits."""
    low, high = limits(b.dtype)
    zero = zero_of(require_scalar(b))
    inverses, shifts = [], []
    for i in range(low, high + 1):
        d = i - zero
        inverse, shift = reciprocal(abs(d)) if d else (0, 0)
        inverses.append(-inverse if d < 0 else inverse)
        shifts.append(shift)
    multiplier, out_shift = multiplier_and_shift(factor)
    places = apply("add", cast(b.value, "int32"), number(-low))
    inverses_at = cast(_lookup(inverses, places), "int64")
    behind = _lookup(shifts, places)
    dividend = offset(a)
    own_low, own_high = limits(a.dtype)
    own_zero = zero_of(require_scalar(a))
    heads = [31 - _sign_free_bits(i - own_zero) for i in range(own_low, own_high + 1)]
    head = _lookup(heads, apply("add", cast(a.value, "int32"), number(-own_low)))
    wide = apply("left_shift", cast(dividend, "int64"), cast(head, "int64"))
    unscaled = doubled_product(wide, inverses_at)
    total = apply("subtract", apply("subtract", number(out_shift), behind), head)
    scaled = doubled_product(unscaled, Value.constant(np.int64(multiplier)))
    right = cast(apply("negative", total), "int64")
    return cast(divided(scaled, right), "int32")


def _sign_free_bits(x: int) -> int:
    """The bits of a number without its sign, and without the bits that repeat it."""
    return (x if x >= 0 else ~x).bit_length()


def _lookup(table: list[int], places: Value) -> Value:
    return apply("take", Value.constant(np.array(table, np.int32)), places, axis=0, mode="fast")


def inverse_roots(i: Any, own: Quantization, out: Quantization, dtype: str) -> Any:
    """`1 / sqrt` of quantized integers, by `GetInvSqrtQuantizedMultiplierExp`; those that are not positive give the largest integer."""
    low, high = limits(dtype)
    scale = 1.0 / (float(np.sqrt(np.float32(own.scales[0]))) * float(out.scales[0]))
    multiplier, shift = multiplier_and_shift(scale)
    results = []
    for value in (np.asarray(i) - zero_of(own)).tolist():
        if value <= 0:
            results.append(high)
            continue
        inverse, own_shift = inverse_root(value)
        data = int(_scaled(1, inverse, own_shift + 20))
        total = int(_scaled(data, multiplier, shift - 20))
        results.append(min(max(total + zero_of(out), low), high))
    return np.array(results)


def _scaled(x: int, multiplier: int, shift: int) -> Any:
    product = doubled_high_product(x << max(shift, 0), multiplier)
    return rounded_shift(product, max(-shift, 0))


def inverse_root(x: int) -> tuple[int, int]:
    """The inverse square root of a positive integer as a multiplier and a shift."""
    if x <= 1:
        return (1 << 31) - 1, 0
    right = 11
    while x >= 1 << 29:
        x //= 4
        right += 1
    headroom = 32 - x.bit_length() - 1
    pairs = headroom // 2 - 1
    right -= pairs
    fixed = x << (2 * pairs)
    three_halves, half_fixed = 0x18000000, int(rounded_shift(fixed >> 1, 1))
    root = 1 << 28
    for _ in range(5):
        cube = int(saturated_shift(doubled_high_product(doubled_high_product(root, root), root), 6))
        first = doubled_high_product(three_halves, root)
        second = doubled_high_product(half_fixed, cube)
        root = int(saturated_shift(first - second, 3))
    inverse = int(doubled_high_product(root, 1518500250))
    if right < 0:
        inverse <<= -right
        right = 0
    return inverse, -right
