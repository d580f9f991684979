"""Pieces of a split tensor lie as their readers read them best: each of them has a layout of its own."""

import numpy as np
import pytest

import irtool

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 32, 14, 14), float32], %f: Tensor[(67, 32, 1, 1), float32], %d: Tensor[(32, 1, 3, 3), float32],
          %e: Tensor[(32, 1, 5, 5), float32]) {
  %0 = nn.conv2d(%x, %f, padding=[0, 0], channels=67, kernel_size=[1, 1]);
  %1 = split(%0, indices_or_sections=[32, 64], axis=1);
  %2 = nn.conv2d(%1.0, %d, padding=[1, 1], groups=32, channels=32, kernel_size=[3, 3]);
  %3 = nn.conv2d(%1.1, %e, padding=[2, 2], groups=32, channels=32, kernel_size=[5, 5]);
  (nn.relu(%2), nn.relu(%3), nn.relu(%1.2)) }"""


@pytest.fixture(name="weights")
def _weights() -> dict[str, np.ndarray]:
    random = np.random.default_rng(1)
    shapes = {"f": (67, 32, 1, 1), "d": (32, 1, 3, 3), "e": (32, 1, 5, 5)}
    return {n: random.standard_normal(s).astype("float32") for n, s in shapes.items()}


def test_depthwise_convolutions_of_pieces_have_vectors(weights: dict[str, np.ndarray]) -> None:
    # 67 channels lie row-major. Weights lie in blocks, so that no axis was contiguous in both.
    artifact = irtool.build(irtool.parse(TEXT), weights)
    kernels = artifact.report["kernels"]
    strategies = {str(k["strategy"]) for k in kernels if "conv2d" in str(k["name"])}
    assert strategies and "scalar_reduction" not in strategies


def test_results_are_those_of_the_interpreter(weights: dict[str, np.ndarray]) -> None:
    x = np.random.default_rng(2).standard_normal((1, 32, 14, 14)).astype("float32")
    module = irtool.parse(TEXT)
    expected = irtool.evaluate(module, {"x": x, **weights})
    actual = irtool.build(module, weights).run([x])
    for a, b in zip(expected, actual, strict=True):
        assert np.abs(b - a).max() <= 1e-5 * np.abs(a).max()
