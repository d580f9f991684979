"""Layer normalisations sum rows that lie side by side, however many images there are beside them."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.schedule import VectorTarget
from tests.schedule.programs import scheduled, values


def network(images: int, rows: int, columns: int = 64) -> irtool.Module:
    """A dense layer, a layer normalisation, and another dense layer."""
    text = f"""#[version = "0.0.5"]
def @main(%x: Tensor[({images}, {rows}, {columns}), float32], %v: Tensor[({columns}, {columns}), float32], %g: Tensor[({columns}), float32],
  %b: Tensor[({columns}), float32], %w: Tensor[({2 * columns}, {columns}), float32]) {{
  %0 = add(%x, nn.dense(%x, %v, units={columns}));
  %1 = nn.layer_norm(%0, %g, %b);
  nn.relu(nn.dense(%1, %w, units={2 * columns}))
}}
"""
    return irtool.infer_types(irtool.parse(text))


@pytest.mark.parametrize("images", [4, 8, 16, 32])
@pytest.mark.parametrize("rows", [17, 32])
def test_images_are_no_vectors(images: int, rows: int) -> None:
    module = network(images, rows)
    inputs = values(module)
    expected = np.asarray(irtool.evaluate(module, inputs))
    x = inputs.pop("x")
    program = scheduled(module, VectorTarget(64, 32))
    stages = [s.strategy for k in program.kernels for s in k.choice.stages]
    assert "row_reduction" in stages and "tiled_transpose" not in stages
    buffers = [b for k in program.kernels for b in k.params]
    assert all(b.layout is None for b in buffers if b.shape[:2] == (images, rows))
    actual = np.asarray(irtool.build(module, inputs, target="c{mcpu=x86-64-v4}").run([x]))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
