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


def samples(*lengths: int) -> list[dict[str, np.ndarray]]:
    g = np.random.RandomState(7)
    return [{"x": g.uniform(-1, 1, (1, n, 32)).astype("float32")} for n in lengths]


@pytest.mark.parametrize(
    "options",
    [
        {"precision": "bfloat16"},
        {"precision": "int8", "calibration": "random"},
        {"precision": "int8", "calibration": samples(1, 2, 9, 64)},
    ],
    ids=["bfloat16", "int8", "samples of several lengths"],
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


TWO = """
def @main(%x: Tensor[(?, 32), float32], %y: Tensor[(?, 32), float32], %w: Tensor[(32, 32), float32]) {
  nn.dense(add(%x, %y), %w, units=32)
}
"""


def test_samples_have_lengths_of_their_own_and_one_length_for_all_inputs() -> None:
    g = np.random.RandomState(2)
    weights = {"w": g.randn(32, 32).astype("float32")}

    def build(*calibration: dict[str, np.ndarray]) -> irtool.Artifact:
        shapes = {"x": ("n<=8", 32), "y": ("n", 32)}
        return irtool.build(
            parse(TWO), weights, shapes=shapes, precision="int8", calibration=list(calibration), emit="c"
        )

    def rows(*shape: int) -> np.ndarray:
        return g.randn(*shape, 32).astype("float32")

    several = {"x": rows(5, 4), "y": rows(5, 4)}
    report = build({"x": rows(3), "y": rows(3)}, {"x": rows(8), "y": rows(8)}, several).report
    assert report["precision"]["dtype"] == "int8"
    for wrong, message in (
        ({"x": rows(3), "y": rows(2)}, "%y: axis 0 is 2, and must be 3"),
        ({"x": rows(9), "y": rows(9)}, "%x: axis 0 is 9, and n is from 1 to 8"),
        ({"x": rows(3)[:, :31], "y": rows(3)}, "calibration data for %x have the shape"),
    ):
        with pytest.raises(irtool.IrError, match=message):
            build(wrong)
