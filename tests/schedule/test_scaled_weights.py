"""Weights that are scaled when the program runs lie in blocks like others, and so does the constant that they are made of."""

from pathlib import Path

import numpy as np
import pytest

import irtool

EXCITED = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 32, 32, 32), float32], %w: Tensor[(16, 32, 1, 1), float32]) {
  %0 = squeeze(nn.global_avg_pool2d(%x), axis=[0]);
  nn.relu(nn.conv2d(nn.relu(%x), multiply(%w, %0), padding=[0, 0, 0, 0], channels=16, kernel_size=[1, 1]))
}
"""


@pytest.mark.promise("scaled weights")
def test_scaled_weights_lie_in_blocks(tmp_path: Path) -> None:
    chance = np.random.default_rng(0)
    x, w = (chance.uniform(-1, 1, s).astype("float32") for s in ((1, 32, 32, 32), (16, 32, 1, 1)))
    built = irtool.build(irtool.parse(EXCITED), {"w": w}, mcpu="x86-64-v3", out_dir=tmp_path)
    want = np.einsum("oc,c,chw->ohw", w[:, :, 0, 0], x[0].mean((1, 2)), np.maximum(x[0], 0))
    np.testing.assert_allclose(
        np.asarray(built.run([x])).reshape(want.shape), np.maximum(want, 0), rtol=1e-4, atol=1e-5
    )
    source = next(tmp_path.glob("*.c")).read_text()
    assert "w_packed" in source, "the constant is packed"
    assert "acc_lanes" not in source[source.index("nn_conv2d") :], "no vector is summed across its lanes"


@pytest.mark.promise("scaled weights")
def test_few_data_are_scaled_in_place_of_many_weights(tmp_path: Path) -> None:
    module = irtool.parse(EXCITED.replace("(1, 32, 32, 32)", "(1, 32, 3, 3)"))
    chance = np.random.default_rng(0)
    x, w = (chance.uniform(-1, 1, s).astype("float32") for s in ((1, 32, 3, 3), (16, 32, 1, 1)))
    built = irtool.build(module, {"w": w}, mcpu="x86-64-v3", out_dir=tmp_path)
    source = next(tmp_path.glob("*.c")).read_text()
    assert "multiply(float32[1, 32, 3, 3]" in source
    assert "multiply(float32[16, 32, 1, 1]" not in source
    want = irtool.evaluate(module, [x, w])
    np.testing.assert_allclose(built.run([x]), want, rtol=1e-5, atol=1e-6)


@pytest.mark.promise("compiled")
@pytest.mark.parametrize(
    "call",
    [
        "take(%w, %i, axis=0)",
        "add(take(%w, %i, axis=0), %w)",
    ],
)
def test_a_constant_read_elsewhere_is_not_beside_the_result(call: str) -> None:
    """Where its indices come from data, too."""
    module = irtool.parse(f"def @main(%i: Tensor[(4), int32], %w: Tensor[(4), float32]) {{ {call} }}")
    i, w = np.array([3, 0, 0, 1], "int32"), np.arange(4, dtype="float32")
    np.testing.assert_array_equal(irtool.build(module, {"w": w}).run([i]), irtool.evaluate(module, [i, w]))
