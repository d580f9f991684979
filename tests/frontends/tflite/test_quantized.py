"""Quantized operators against the formulas by which TensorFlow Lite defines them, written out in integers of any size."""

from __future__ import annotations

import math

import numpy as np
import pytest

from .agreement import outputs_of
from .build import Graph, Op, Tensor, model_bytes

pytest.importorskip("tflite")
pytestmark = pytest.mark.promise("networks in TensorFlow Lite")


def multiplied(x: int, factor: float) -> int:
    """`MultiplyByQuantizedMultiplier`: a product rounded to the high word, then a division by a power of two, rounded again."""
    fraction, exponent = math.frexp(factor)
    multiplier = math.floor(fraction * 2**31 + 0.5)
    if multiplier == 2**31:
        multiplier, exponent = 2**30, exponent + 1
    product = x * (1 << max(exponent, 0)) * multiplier
    high = (product + 2**30) // 2**31
    divisor = 1 << max(-exponent, 0)
    quotient, rest = divmod(abs(high), divisor)
    return (1 if high >= 0 else -1) * (quotient + (2 * rest >= divisor and divisor > 1))


def multiplied_once(x: int, factor: float) -> int:
    """The product with the same multiplier and shift, rounded once, a half up: what dense layers do."""
    fraction, exponent = math.frexp(factor)
    shift = 31 - exponent
    return (x * math.floor(fraction * 2**31 + 0.5) + (1 << (shift - 1))) >> shift


@pytest.mark.parametrize("kind", ["CONV_2D", "FULLY_CONNECTED"])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_layer_is_exact(kind: str, per_channel: bool, compiled: bool) -> None:
    """A convolution with one tap, and a dense layer: they have the same sums, and round them in different ways."""
    rng = np.random.default_rng(per_channel)
    x = rng.integers(-128, 128, (400, 30)).astype(np.int8)
    w = rng.integers(-127, 128, (8, 30)).astype(np.int8)
    b = rng.integers(-5000, 5000, 8).astype(np.int32)
    scales = rng.uniform(0.001, 0.02, 8 if per_channel else 1).astype(np.float32)
    own, out = np.float32(0.037), np.float32(0.11)
    is_dense = kind == "FULLY_CONNECTED"
    image, kernel = (x, w) if is_dense else (x.reshape(1, 20, 20, 30), w.reshape(8, 1, 1, 30))
    options = {} if is_dense else {"Padding": 1, "StrideW": 1, "StrideH": 1}
    op = Op(kind, [0, 1, 2], [3], options, "FullyConnectedOptions" if is_dense else "Conv2DOptions", 3)
    tensors = [
        Tensor("x", image.shape, "int8", scale=own, zero=7),
        Tensor("w", kernel.shape, "int8", kernel, scale=scales),
        Tensor("b", b.shape, "int32", b),
        Tensor("y", (), "int8", scale=out, zero=-9),
    ]
    model = model_bytes(Graph(tensors, [op], [0], [3]))
    sums = (x.astype(np.int64) - 7) @ w.astype(np.int64).T + b
    products = [float(own) * float(s) for s in scales]
    if is_dense and not per_channel:
        products = [float(np.float32(own * scales[0]))]
    factors = [p / float(out) for p in products] * (1 if per_channel else 8)
    times = multiplied_once if is_dense else multiplied
    expected = [[min(max(times(int(s), f) - 9, -128), 127) for s, f in zip(row, factors, strict=True)] for row in sums]
    assert outputs_of(model, [image], compiled)[0].reshape(400, 8).tolist() == expected


@pytest.mark.parametrize("factor", [0.5, 0.25, 0.3, 1.0, 1.7, 3.0])
def test_halves_are_rounded_as_the_kernels_round_them(factor: float) -> None:
    x = np.arange(-128, 128, dtype=np.int8)
    model = model_bytes(
        Graph(
            [Tensor("x", x.shape, "int8", scale=factor), Tensor("y", x.shape, "int8", scale=1.0)],
            [Op("QUANTIZE", [0], [1], {}, "QuantizeOptions", 2)],
            [0],
            [1],
        )
    )
    expected = [min(max(multiplied(int(v), float(np.float32(factor))), -128), 127) for v in x]
    for compiled in (False, True):
        assert outputs_of(model, [x], compiled)[0].tolist() == expected
