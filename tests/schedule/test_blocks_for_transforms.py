"""A convolution that will be transformed has its channels side by side in what is computed for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import irtool

BETWEEN = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 32, 32, 64), float32], %w: Tensor[(64, 64, 3, 3), float32]) {
  %0 = transpose(tanh(%x), axes=[0, 3, 1, 2]);
  %1 = nn.conv2d(%0, %w, channels=64, kernel_size=[3, 3], padding=[1, 1, 1, 1]);
  transpose(%1, axes=[0, 2, 3, 1])
}
"""


def test_data_that_are_computed_one_by_one_get_blocks(tmp_path: Path) -> None:
    """Between normalisations of channels that lie side by side, as in necks of image encoders."""
    module = irtool.infer_types(irtool.parse(BETWEEN))
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1, 32, 32, 64)).astype("float32")
    weights = {"w": (rng.normal(size=(64, 64, 3, 3)) / 24).astype("float32")}
    irtool.build(module, weights, mcpu="x86-64-v4", emit="c", name="net", out_dir=tmp_path)
    assert "nn.conv2d, transpose: winograd" in (tmp_path / "net.c").read_text(encoding="utf-8")
    actual = irtool.build(module, weights, cache=False).run({"x": x})
    expected = irtool.evaluate(module, [x, weights["w"]])
    assert np.abs(np.asarray(actual) - expected).max() <= 1e-3 * np.abs(expected).max()
