"""Linear layers composed: fewer products, the same results; and padding in front of convolutions is theirs in a build."""

from __future__ import annotations

import numpy as np
import pytest

import irtool

pytestmark = pytest.mark.promise("linear layers")

HEAD = """def @main(%x: Tensor[(1, 64, 8), float32], %y: Tensor[(1, 16, 12), float32], %v: Tensor[(24, 8), float32], %b: Tensor[(24), float32], %w: Tensor[(24, 12), float32], %k: Tensor[(16, 48, 1, 1), float32]) {
  %0 = reshape(transpose(add(nn.dense(%x, %v, units=24), %b), axes=[0, 2, 1]), newshape=[1, 24, 8, 8]);
  %1 = reshape(transpose(add(nn.dense(%y, %w, units=24), %b), axes=[0, 2, 1]), newshape=[1, 24, 4, 4]);
  %2 = concatenate((%0, image.resize2d(%1, size=[8, 8], roi=[0f, 0f, 0f, 0f])), axis=1);
  nn.relu(nn.conv2d(%2, %k, padding=[0, 0, 0, 0], channels=16, kernel_size=[1, 1]))
}"""
PADDED = """def @main(%x: Tensor[(1, 16, 9, 9), float32], %k: Tensor[(16, 1, 3, 3), float32]) {
  %0 = nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [0, 1], [0, 1]]);
  nn.conv2d(%0, %k, strides=[2, 2], padding=[0, 0, 0, 0], groups=16, channels=16, kernel_size=[3, 3])
}"""


@pytest.mark.parametrize(
    ("text", "operator", "products"), [(HEAD, "concatenate", 64 * 8 * 16 + 16 * 12 * 16), (PADDED, "nn.pad", None)]
)
def test_the_build_computes_less(text: str, operator: str, products: int | None) -> None:
    module = irtool.parse('#[version = "0.0.5"]\n' + text)
    generator = np.random.default_rng(0)
    values = {
        p.name: generator.standard_normal([int(d) for d in p.checked_type.shape]).astype("float32")
        for p in module["main"].params
    }
    weights = {n: v for n, v in values.items() if n in "vbwk"}
    artifact = irtool.build(module, weights)
    kernels = artifact.report["kernels"]
    assert not any(operator in k["operators"] for k in kernels)
    if products is not None:
        assert sum(k["macs"] for k in kernels if "nn.dense" in k["operators"]) == products
    expected = irtool.evaluate(module, list(values.values()))
    actual = artifact.run([v for n, v in values.items() if n not in weights])
    assert np.abs(actual - expected).max() <= 1e-5 * np.abs(expected).max()
