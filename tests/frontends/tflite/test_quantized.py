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


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_dense_layer_is_exact(per_channel: bool, compiled: bool) -> None:
    rng = np.random.default_rng(per_channel)
    x = rng.integers(-128, 128, (16, 30)).astype(np.int8)
    w = rng.integers(-127, 128, (8, 30)).astype(np.int8)
    b = rng.integers(-5000, 5000, 8).astype(np.int32)
    scales = rng.uniform(0.001, 0.02, 8 if per_channel else 1).astype(np.float32)
    own, out = np.float32(0.037), np.float32(0.11)
    model = model_bytes(
        Graph(
            [
                Tensor("x", x.shape, "int8", scale=own, zero=7),
                Tensor("w", w.shape, "int8", w, scale=scales),
                Tensor("b", b.shape, "int32", b),
                Tensor("y", (16, 8), "int8", scale=out, zero=-9),
            ],
            [Op("FULLY_CONNECTED", [0, 1, 2], [3], {}, "FullyConnectedOptions", 4)],
            [0],
            [3],
        )
    )
    sums = (x.astype(np.int64) - 7) @ w.astype(np.int64).T + b
    products = [float(own) * float(s) for s in scales] if per_channel else [float(np.float32(own * scales[0]))]
    factors = [p / float(out) for p in products] * (1 if per_channel else 8)
    expected = [
        [min(max(multiplied(int(s), f) - 9, -128), 127) for s, f in zip(row, factors, strict=True)] for row in sums
    ]
    assert outputs_of(model, [x], compiled)[0].tolist() == expected


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
