"""A convolution whose result is read under another shape as well is transformed; who reads it so gets a copy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irtool

SOURCE = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 64, 32, 32), float32], %u: Tensor[(64, 64, 1, 1), float32], %w: Tensor[(64, 64, {k}, {k}), float32], %v: Tensor[(64, 64, 1, 1), float32]) {{
  %0 = nn.relu(nn.conv2d(%x, %u, channels=64, kernel_size=[1, 1], padding=[0, 0, 0, 0]));
  %1 = nn.relu(nn.conv2d(%0, %w, channels=64, kernel_size=[{k}, {k}], padding=[{p}, {p}, {p}, {p}]));
  %2 = reshape(%1, newshape=[1, 64, 1024]);
  %3 = nn.softmax(sum(%2, axis=[1], keepdims=True));
  %4 = nn.batch_matmul(%2, %3, transpose_b=True);
  %5 = add(%1, reshape(%4, newshape=[1, 64, 1, 1]));
  nn.conv2d(%5, %v, channels=64, kernel_size=[1, 1], padding=[0, 0, 0, 0])
}}
"""


@pytest.mark.parametrize("window, copied", [(3, True), (1, False)])
def test_a_copy_where_it_pays(window: int, copied: bool, tmp_path: Path) -> None:
    module = irtool.infer_types(irtool.parse(SOURCE.format(k=window, p=window // 2)))
    rng = np.random.default_rng(0)
    values = {p.name: (rng.normal(size=p.type_annotation.shape) / 8).astype("float32") for p in module["main"].params}
    weights = {n: a for n, a in values.items() if n != "x"}
    irtool.build(module, weights, mcpu="x86-64-v4", emit="c", name="net", out_dir=tmp_path)
    text = (tmp_path / "net.c").read_text(encoding="utf-8")
    assert ("nn.conv2d, nn.relu: winograd" in text) == copied
    assert (" * copy: " in text) == copied
    actual = irtool.build(module, weights, cache=False).run({"x": values["x"]})
    expected = irtool.evaluate(module, list(values.values()))
    assert np.abs(np.asarray(actual) - expected).max() <= 1e-3 * np.abs(expected).max()
