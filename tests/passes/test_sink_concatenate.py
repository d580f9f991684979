"""What SinkConcatenate moves in front of a concatenation is what was behind it."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.passes.core.bind import bind_params

IMAGE = """def @main(%x: Tensor[(1, 3, 6, 6), float32], %w: Tensor[(4, 3, 1, 1), float32], %s: Tensor[{scale}, float32]) {{
  %0 = nn.conv2d(%x, %w, channels=4, kernel_size=[1, 1], padding=[0, 0, 0, 0]);
  %1 = (%0, nn.max_pool2d(%x, pool_size=[1, 1]), nn.conv2d(%x, %w, channels=4, kernel_size=[1, 1], padding=[0, 0, 0, 0]));
  %2 = nn.leaky_relu(subtract(%s, concatenate(%1, axis={axis})), alpha=0.5f);
  multiply(maximum(%2, %s), exp(%2))
}}"""
ROWS = """def @main(%x: Tensor[(5, 3), float32], %w: Tensor[(4, 3), float32], %s: Tensor[(8), float32]) {
  %0 = (nn.dense(%x, %w, units=4), nn.relu(nn.dense(%x, %w, units=4)));
  add(tanh(concatenate(%0, axis=-1)), %s)
}"""
CASES = [
    IMAGE.format(scale="(11, 1, 1)", axis=1),
    IMAGE.format(scale="(1, 6)", axis=1),
    IMAGE.format(scale="()", axis=-3),
    IMAGE.format(scale="(1, 11, 6, 1)", axis=1),
    ROWS,
]


@pytest.mark.parametrize("text", CASES)
def test_every_element_stays_the_same(text: str) -> None:
    rng = np.random.default_rng(1)
    module = irtool.infer_types(irtool.parse('#[version = "0.0.5"]\n' + text))
    inputs = {
        p.name: rng.normal(size=p.type_annotation.shape).astype("float32").reshape(p.type_annotation.shape)
        for p in module["main"].params
    }
    bound = irtool.infer_types(bind_params(module, {n: a for n, a in inputs.items() if n != "x"}))
    sunk = irtool.infer_types(irtool.run_passes(bound, "SinkConcatenate", opt_level=3))
    result = sunk["main"].body
    assert result.op.name == "concatenate"
    expected, actual = (irtool.evaluate(m, [inputs["x"]]) for m in (bound, sunk))
    np.testing.assert_allclose(actual, expected, rtol=2e-6, atol=1e-6)


def test_what_is_behind_a_value_that_is_read_whole_stays_there() -> None:
    """The exponential is a result as well: it and all that is computed of it stay behind the concatenation."""
    text = """def @main(%x: Tensor[(5, 3), float32], %w: Tensor[(4, 3), float32]) {
  %0 = concatenate((nn.dense(%x, %w, units=4), nn.relu(nn.dense(%x, %w, units=4))), axis=-1);
  %1 = exp(negative(%0));
  (nn.relu(tanh(sqrt(%1))), %1)
}"""
    module = irtool.infer_types(irtool.parse('#[version = "0.0.5"]\n' + text))
    sunk = irtool.infer_types(irtool.run_passes(module, "SinkConcatenate", opt_level=3))
    rng = np.random.default_rng(2)
    inputs = [rng.normal(size=s).astype("float32") for s in ((5, 3), (4, 3))]
    for a, b in zip(irtool.evaluate(module, inputs), irtool.evaluate(sunk, inputs), strict=True):
        np.testing.assert_allclose(b, a, rtol=2e-6)
    whole = sunk["main"].body.fields[1]
    assert whole.op.name == "concatenate", "the exponential is made in the layers and put together"
    assert sunk["main"].body.fields[0].op.name == "nn.relu"


def test_fields_without_operands_are_no_layers() -> None:
    text = 'def @main(%x: Tensor[(2, 3), float32]) { exp(concatenate((%x, ones(shape=[1, 3], dtype="float32")))) }'
    module = irtool.infer_types(irtool.parse('#[version = "0.0.5"]\n' + text))
    sunk = irtool.run_passes(module, "SinkConcatenate", opt_level=3)
    x = np.ones((2, 3), "float32")
    np.testing.assert_array_equal(irtool.evaluate(sunk, [x]), irtool.evaluate(module, [x]))
