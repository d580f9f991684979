"""Images of one to three channels made of any number of them: the summed channels lie side by side, in vectors."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.schedule import VectorTarget
from tests.schedule.programs import scheduled, values

CONVOLUTION = "nn.conv2d(%0, %w, padding=[{pad}, {pad}], channels={results}, kernel_size=[{k}, {k}])"
TRANSPOSED = 'nn.conv2d_transpose(%0, %w, padding=[{pad}, {pad}], output_padding=[1, 1], strides=[2, 2], channels={results}, kernel_size=[{k}, {k}], kernel_layout="IOHW")'


def network(layer: str, channels: int, results: int, k: int) -> irtool.Module:
    layer = layer.format(pad=k // 2, results=results, k=k)
    shape = (channels, results, k, k) if "transpose" in layer else (results, channels, k, k)
    text = f"""#[version = "0.0.5"]
def @main(%x: Tensor[(1, 6, 18, 20), float32], %u: Tensor[({channels}, 6, 3, 3), float32], %w: Tensor[{shape}, float32]) {{
  %0 = nn.relu(nn.conv2d(%x, %u, padding=[1, 1], channels={channels}, kernel_size=[3, 3]));
  {layer}
}}
"""
    return irtool.infer_types(irtool.parse(text))


@pytest.mark.parametrize("channels", [8, 24, 40, 56, 72, 100])
@pytest.mark.parametrize(
    ("layer", "results", "k"),
    [(CONVOLUTION, 1, 3), (CONVOLUTION, 3, 5), (CONVOLUTION, 1, 9), (CONVOLUTION, 28, 1), (TRANSPOSED, 1, 9)],
)
def test_every_sum_is_made_in_vectors(layer: str, results: int, k: int, channels: int) -> None:
    module = network(layer, channels, results, k)
    inputs = values(module)
    expected = np.asarray(irtool.evaluate(module, inputs))
    x = inputs.pop("x")
    program = scheduled(module, VectorTarget(64, 32))
    assert "scalar_reduction" not in [s.strategy for k in program.kernels for s in k.choice.stages]
    for flags in ("mcpu=x86-64-v4", "mcpu=x86-64-v3,openmp=true,parallel_elements=1", "vector=none"):
        actual = np.asarray(irtool.build(module, inputs, target=f"c{{{flags}}}").run([x]))
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
