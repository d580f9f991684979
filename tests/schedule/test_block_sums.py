"""Long sums of float32 against float64: along every axis, in every strategy, in C and in the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

import irtool

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(3, 70001), float32], %y: Tensor[(70001, 5), float32], %z: Tensor[(2, 9001, 3), float32],
          %i: Tensor[(1, 2, 301, 303), float32], %w: Tensor[(4, 70001), float32]) {
  (sum(%x, axis=[1]), sum(%y, axis=[0]), mean(%z, axis=[1]), nn.global_avg_pool2d(%i), nn.dense(%x, %w, units=4),
   sum(%y), mean(%i, axis=[1, 3]), mean(%x), nn.matmul(%x, %y, units=5), sum(multiply(%x, %x), axis=[1]))
}
"""
SHAPES = [(3, 70001), (70001, 5), (2, 9001, 3), (1, 2, 301, 303), (4, 70001)]


def inputs() -> list[np.ndarray]:
    draw = np.random.default_rng(5).random
    return [(draw(s) + 0.3).astype("float32") for s in SHAPES]


def exact(values: list[np.ndarray]) -> list[np.ndarray]:
    x, y, z, i, w = (v.astype("float64") for v in values)
    return [
        x.sum(1),
        y.sum(0),
        z.mean(1),
        i.mean((2, 3), keepdims=True),
        x @ w.T,
        y.sum(),
        i.mean((1, 3)),
        x.mean(),
        x @ y,
        (x * x).sum(1),
    ]


def check(results: tuple[np.ndarray, ...], values: list[np.ndarray]) -> None:
    for n, (actual, expected) in enumerate(zip(results, exact(values), strict=True)):
        np.testing.assert_allclose(actual, expected, rtol=3e-6, atol=0, err_msg=f"result {n}")


@pytest.mark.parametrize("flags", ["vector=none", "mcpu=none", "mcpu=native", "mcpu=native,openmp=1"])
def test_sums_in_c(flags: str) -> None:
    values = inputs()
    check(irtool.build(irtool.parse(TEXT), target=f"c{{{flags}}}").run(values), values)


def test_sums_in_the_interpreter() -> None:
    values = inputs()
    check(irtool.evaluate(irtool.parse(TEXT), values), values)


def test_sums_that_stop_growing() -> None:
    """Of ones: 2^24 + 1 is no float32."""
    text = "def @main(%x: Tensor[(1), float32]) { sum(broadcast_to(%x, shape=[2, 16777231]), axis=[1]) }"
    ones = np.ones(1, "float32")
    for flags in ("vector=none", "mcpu=none"):
        actual = irtool.build(irtool.parse(text), target=f"c{{{flags}}}").run([ones])
        np.testing.assert_allclose(actual, 16777231, rtol=1e-6)


def test_sums_for_which_weights_leave_a_cache() -> None:
    """The strategy `blocked_sum`: sums of all rows wait while the next steps of them are made."""
    text = """def @main(%x: Tensor[(48, 20010), float32], %w: Tensor[(20010, 128), float32]) {
      nn.matmul(%x, %w, units=128) }"""
    draw = np.random.default_rng(6).random
    x, w = (draw(s).astype("float32") + np.float32(0.3) for s in ((48, 20010), (20010, 128)))
    artifact = irtool.build(irtool.parse(text), {"w": w}, target="c{mcpu=none,l2_cache_bytes=65536}")
    assert artifact.report["kernels"][0]["strategy"] == "blocked_sum"
    np.testing.assert_allclose(artifact.run([x]), x.astype("float64") @ w.astype("float64"), rtol=2e-6)
