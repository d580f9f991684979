"""What is the same constant in every call of a function is no parameter of it."""

from __future__ import annotations

import re

import numpy as np
import pytest

import irtool

LOOP = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(40, 40), float32]) {
  @turn(0, meta[relay.Constant][0], zeros(shape=[5, 1, 40], dtype="float32"), %w)
}
def @turn(%i: int32, %h: Tensor[(1, 40), float32], %y: Tensor[(5, 1, 40), float32], %w: Tensor[(40, 40), float32])
    -> Tensor[(5, 1, 40), float32] {
  if (less(%i, 5)) {
    %0 = add(nn.dense(%h, %w, units=None), 1f);
    %1 = scatter_nd(%y, reshape(%i, newshape=[1, 1]), expand_dims(%0, axis=0), mode="update");
    @turn(add(%i, 1), %0, %1, %w)
  } else {
    %y
  }
}
""".replace("meta[relay.Constant][0]", 'zeros(shape=[1, 40], dtype="float32")')


@pytest.mark.promise("onnx loops")
def test_weights_of_a_loop_are_packed_once_and_results_are_written_in_place(tmp_path):
    weights = {"w": np.random.default_rng(0).standard_normal((40, 40)).astype("float32") * np.float32(0.1)}
    module = irtool.parse(LOOP)
    built = irtool.build(module, weights, out_dir=tmp_path, cflags="-O1")
    x = np.zeros((2, 3), "float32")
    np.testing.assert_allclose(built.run([x]), irtool.evaluate(module, {"x": x, **weights}), rtol=1e-4, atol=1e-5)
    text = (tmp_path / "model.c").read_text()
    head, body = re.search(r"static int model_turn\(([^)]*)\) \{\n(.*?)\n\}\n", text, re.DOTALL).groups()
    assert "const float *w" not in head
    assert "model_w" in body
    # Nothing but the number of the turn and the state is copied from turn to turn.
    turns = body[body.index("for (;;)") : body.index("} else {")]
    assert "800u" not in turns


def test_a_parameter_that_differs_from_call_to_call_stays():
    text = """#[version = "0.0.5"]
    def @main(%x: Tensor[(2), float32]) { add(@f(%x, 1f), @f(%x, 2f)) }
    def @f(%x: Tensor[(2), float32], %a: float32) -> Tensor[(2), float32] { multiply(exp(%x), %a) }
    """
    x = np.zeros(2, "float32")
    built = irtool.build(irtool.parse(text), disabled_pass=["Inline"], cflags="-O0")
    np.testing.assert_allclose(built.run([x]), [3, 3])
