"""Kernels past reshapes and transposes: one kernel, the same results."""

from __future__ import annotations

import numpy as np
import pytest

import irtool

pytestmark = pytest.mark.promise("epilogues")

GELU = """def @main(%x: Tensor[(1, 14, 14, 32), float32], %w: Tensor[(48, 32), float32], %b: Tensor[(48), float32]) {
  %0 = nn.dense(reshape(%x, newshape=[196, 32]), %w, units=48);
  %1 = add(reshape(%0, newshape=[1, 14, 14, 48]), %b);
  multiply(multiply(%1, 0.5f), add(erf(%1), 1f))
}"""
IMAGES = """def @main(%x: Tensor[(1, 256, 32), float32], %w: Tensor[(64, 32), float32], %k: Tensor[(64, 1, 3, 3), float32], %v: Tensor[(32, 64), float32]) {
  %0 = reshape(transpose(nn.dense(%x, %w, units=64), axes=[0, 2, 1]), newshape=[1, 64, 16, 16]);
  %1 = nn.conv2d(%0, %k, padding=[1, 1, 1, 1], groups=64, channels=64, kernel_size=[3, 3]);
  %2 = transpose(reshape(%1, newshape=[1, 64, 256]), axes=[0, 2, 1]);
  nn.dense(nn.relu(%2), %v, units=32)
}"""
HEADS = """def @main(%x: Tensor[(4, 24, 8), float32], %y: Tensor[(4, 8, 32), float32], %z: Tensor[(24, 128), float32]) {
  %0 = nn.batch_matmul(%x, %y, transpose_b=False);
  add(reshape(transpose(%0, axes=[1, 0, 2]), newshape=[24, 128]), %z)
}"""
SCORES = """def @main(%x: Tensor[(1, 64, 32), float32], %y: Tensor[(1, 32, 32), float32], %w: Tensor[(32, 32), float32]) {
  %0 = transpose(nn.dense(%y, %w, units=32), axes=[0, 2, 1]);
  nn.batch_matmul(%x, %0, transpose_b=False)
}"""

TWICE = """def @main(%x: Tensor[(8, 16), float32]) {
  let %f = fn (%a: Tensor[(8, 16), float32]) -> Tensor[(16, 8), float32] { reshape(multiply(%a, 2f), newshape=[16, 8]) };
  %f(reshape(%f(%x), newshape=[8, 16]))
}"""


@pytest.mark.parametrize(("text", "kernels"), [(GELU, 1), (IMAGES, 3), (HEADS, 1), (SCORES, 3), (TWICE, 1)])
def test_one_kernel_and_the_same_results(text: str, kernels: int) -> None:
    """The transposed operand of a product of two computed matrices stays as it is: blocks of it would be slower to read."""
    module = irtool.parse('#[version = "0.0.5"]\n' + text)
    generator = np.random.default_rng(0)
    values = {
        p.name: generator.standard_normal([int(d) for d in p.checked_type.shape]).astype("float32")
        for p in module["main"].params
    }
    weights = {n: v for n, v in values.items() if n in "wbkv"}
    artifact = irtool.build(module, weights)
    assert len(artifact.report["kernels"]) == kernels
    expected = irtool.evaluate(module, list(values.values()))
    actual = artifact.run([v for n, v in values.items() if n not in weights])
    assert np.abs(actual - expected).max() <= 1e-5 * np.abs(expected).max()
