"""Lower precision for networks whose lengths each run decides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool
from irtool.interp.random_inputs import random_inputs
from tests.driver.programs import parse

TEXT = """
def @main(%x: Tensor[(1, ?, 32), float32], %w: Tensor[(32, 32), float32]) {
  %0 = nn.batch_matmul(%x, %x, transpose_b=True);
  %1 = nn.batch_matmul(nn.softmax(%0), %x, transpose_b=False);
  nn.dense(reshape(%1, newshape=[-1, 32]), %w, units=32)
}
"""


@pytest.mark.parametrize(
    "options", [{"precision": "bfloat16"}, {"precision": "int8", "calibration": "random"}], ids=["bfloat16", "int8"]
)
def test_short_lengths_are_within_the_calibrated_ranges(options: dict[str, Any]) -> None:
    """Calibration sees samples of several lengths: the average over one element has a wider range than that over sixty-four."""
    g = np.random.RandomState(1)
    weights = {"w": g.randn(32, 32).astype("float32")}
    shapes = {"x": (1, "n<=64", 32)}
    exact = irtool.build(parse(TEXT), weights, shapes=shapes)
    lower = irtool.build(parse(TEXT), weights, shapes=shapes, **options)
    for length in (1, 2, 9, 33, 64):
        pinned = irtool.infer_types(parse(TEXT.replace("?", str(length))))
        x = {"x": random_inputs(pinned["main"], 100 + length, pinned)[0]}
        expected, result = np.asarray(exact.run(x)), np.asarray(lower.run(x))
        assert np.abs(result - expected).max() <= 0.25 * np.abs(expected).max(), length
