"""Tensors whose channels are no whole vectors: what reads them in the blocks that others gave them has vectors all the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from tests.backends.instructions import require_processor


def filled(text: str) -> tuple[Any, dict[str, Any], Any, Any]:
    """A module, weights that keep results at about one, the input `x`, and what the interpreter makes of them."""
    module = irtool.infer_types(irtool.parse(text))
    random = np.random.default_rng(0)
    shapes = {p.name: [int(n) for n in p.checked_type.shape] for p in module["main"].params}
    weights = {n: (random.standard_normal(s) / np.sqrt(np.prod(s[1:]))).astype("float32") for n, s in shapes.items()}
    want = np.asarray(irtool.evaluate(module, weights))
    x = weights.pop("x")
    return module, weights, x, want


GHOST = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 48, {s}, {s}), float32], %a: Tensor[({c}, 48, 1, 1), float32], %d: Tensor[({c}, 1, 3, 3), float32],
          %f: Tensor[({t}, 1, 3, 3), float32], %e: Tensor[(48, {t}, 1, 1), float32]) {{
  %0 = nn.conv2d(%x, %a, channels={c}, kernel_size=[1, 1]);
  %1 = nn.conv2d(%0, %d, padding=[1, 1], groups={c}, channels={c}, kernel_size=[3, 3]);
  %2 = concatenate((%0, %1), axis=1);
  %3 = nn.conv2d(%2, %f, strides=[2, 2], padding=[1, 1], groups={t}, channels={t}, kernel_size=[3, 3]);
  nn.conv2d(%3, %e, channels=48, kernel_size=[1, 1])
}}
"""
"""Modules of GhostNet (Han et al., 2020): half of the channels are made of the other half by a depthwise convolution."""


@pytest.mark.parametrize("channels", [12, 120], ids=["quarters of vectors", "halves of vectors"])
def test_every_kernel_has_vectors(channels: int, tmp_path: Path) -> None:
    module, weights, x, want = filled(GHOST.format(s=28, c=channels, t=2 * channels))
    irtool.build(
        module, weights, target="c{mcpu=x86-64-v4}", emit="c", out_dir=tmp_path, name="m", disabled_pass=["PadChannels"]
    )
    kernels = (tmp_path / "m.c").read_text().split("\nstatic void tvmgen_")[1:]
    assert len(kernels) >= 4
    for text in kernels:
        assert "irt_f32x" in text.split("\n}\n")[0], text[:200]
    np.testing.assert_allclose(
        np.asarray(irtool.build(module, weights).run([x])), want, rtol=0, atol=1e-4 * np.abs(want).max()
    )


RES2 = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 256, {s}, {s}), float32], %a: Tensor[({t}, 256, 1, 1), float32], %b: Tensor[({c}, {c}, 3, 3), float32],
          %d: Tensor[(256, {t}, 1, 1), float32]) {{
  %0 = nn.conv2d(%x, %a, channels={t}, kernel_size=[1, 1]);
  %1 = split(%0, indices_or_sections=4, axis=1);
  %2 = nn.conv2d(%1.1, %b, padding=[1, 1], channels={c}, kernel_size=[3, 3]);
  %3 = nn.conv2d(add(%2, %1.2), %b, padding=[1, 1], channels={c}, kernel_size=[3, 3]);
  %4 = concatenate((%1.0, %2, %3, %1.3), axis=1);
  nn.conv2d(%4, %d, channels=256, kernel_size=[1, 1])
}}
"""
"""A module of Res2Net (Gao et al., 2019): parts of the channels begin within a block of 16."""


@pytest.mark.parametrize("channels", [52, 12])
def test_parts_that_begin_within_a_block_are_transposed(channels: int, tmp_path: Path) -> None:
    module, weights, x, want = filled(RES2.format(s=28, c=channels, t=4 * channels))
    irtool.build(
        module, weights, target="c{mcpu=x86-64-v4}", emit="c", out_dir=tmp_path, name="m", disabled_pass=["PadChannels"]
    )
    text = (tmp_path / "m.c").read_text()
    parts = text.split("_split(const", 1)[1].split("\n}\n")[0]
    vectors = parts.split("\n#else")[0]
    assert vectors.count("_square_f32x16(") >= 4
    assert "% 16" not in vectors
    np.testing.assert_allclose(
        np.asarray(irtool.build(module, weights).run([x])), want, rtol=0, atol=1e-4 * np.abs(want).max()
    )


XCEPTION = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 64, 19, 19), float32], %a: Tensor[(200, 64, 1, 1), float32], %d: Tensor[(200, 1, 3, 3), float32],
          %e: Tensor[(200, 200, 1, 1), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %a, channels=200, kernel_size=[1, 1]));
  %1 = nn.conv2d(%0, %d, padding=[1, 1], groups=200, channels=200, kernel_size=[3, 3]);
  %2 = nn.relu(nn.conv2d(%1, %e, channels=200, kernel_size=[1, 1]));
  %3 = nn.conv2d(%2, %d, padding=[1, 1], groups=200, channels=200, kernel_size=[3, 3]);
  nn.conv2d(%3, %e, channels=200, kernel_size=[1, 1])
}
"""
"""Separable convolutions of Xception (Chollet, 2017), of channels that are 25 vectors of eight."""


def test_tiles_of_avx2_have_several_vectors(tmp_path: Path) -> None:
    require_processor("x86-64-v3")
    module, weights, x, want = filled(XCEPTION)
    artifact = irtool.build(module, weights, mcpu="x86-64-v3", out_dir=tmp_path)
    reasons = [s["reason"] for k in artifact.report["kernels"] for s in k["stages"]]
    assert sum("axis ax1 of 200, tile 6 x 2 x 8" in r for r in reasons) == 3, reasons
    np.testing.assert_allclose(np.asarray(artifact.run([x])), want, rtol=0, atol=1e-4 * np.abs(want).max())
