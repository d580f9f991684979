"""Weights of a loop in 8 bits, multiplied with data that are quantized in each step: they are prepared once, when it is built."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.ir import Call, Constant, Function, Op, post_order
from irtool.passes.core.bind import bind_params

LOOP = """#[version = "0.0.5"]
def @loop(%i: int64, %h: Tensor[(3, 8), float32], %w: Tensor[(8, 8), DTYPE]) -> Tensor[(3, 8), float32] {
  if (less(%i, 4i64)) {
    %0 = min(%h);
    %1 = divide(subtract(max(%h), %0), 255f);
    %2 = clip(round(negative(divide(%0, %1))), a_min=0f, a_max=255f);
    %3 = cast(clip(add(round(divide(%h, %1)), %2), a_min=0f, a_max=255f), dtype="uint8");
    %4 = qnn.dense(%3, %w, cast(%2, dtype="int32"), 0, 1f, 1f, units=8, out_dtype="int32");
    @loop(add(%i, 1i64), add(tanh(multiply(cast(%4, dtype="float32"), multiply(%1, 0.01f))), %h), %w)
  } else {
    %h
  }
}
def @main(%x: Tensor[(3, 8), float32], %w: Tensor[(1, 8, 8), DTYPE]) { @loop(0i64, %x, squeeze(%w, axis=[0])) }
"""


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("byte_products", [False, True])
def test_a_loop_computes_nothing_from_its_weights_alone(dtype: str, byte_products: bool) -> None:
    g = np.random.default_rng(0)
    weights = {"w": g.integers(0, 127, (1, 8, 8)).astype(dtype) - np.array(60 * (dtype == "int8"), dtype)}
    x = g.normal(size=(3, 8)).astype("float32")
    module = irtool.parse(LOOP.replace("DTYPE", dtype))
    bound = irtool.infer_types(bind_params(module, weights))
    config = {"irtool.qnn.byte_products": byte_products}
    done = irtool.run_passes(bound, "build<O3>", config=config)
    loop = done["loop"]
    assert isinstance(loop, Function) and len(loop.params) == 2
    computed = [e for e in post_order(loop) if isinstance(e, Call) and isinstance(e.op, Op) and e.args]
    assert not [e for e in computed if all(isinstance(a, Constant) for a in e.args)], "folded when it is built"
    exact = irtool.evaluate(module, {**weights, "x": x})
    np.testing.assert_allclose(irtool.evaluate(done, [x]), exact, rtol=1e-5, atol=1e-6)
