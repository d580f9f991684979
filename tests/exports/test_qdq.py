"""Quantized programs as ONNX nodes between QuantizeLinear and DequantizeLinear: within a unit or two of irtool's integers."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import irtool
from irtool.diagnostics import UsageError
from irtool.infer import infer_types
from irtool.interp.evaluate import evaluate
from tests.exports.quantized import exported, integers, layers, rng

pytest.importorskip("onnx")


@pytest.mark.promise("quantized operators as QDQ")
def test_layers_are_floats_between_quantizations() -> None:
    from onnx.reference import ReferenceEvaluator

    module, weights = layers()
    x = rng.standard_normal((1, 3, 8, 8)).astype("float32")
    model = exported(module, weights, quantized="qdq")
    kinds = Counter(n.op_type for n in model.graph.node)
    assert kinds["Conv"] == kinds["Gemm"] == kinds["Add"] == 1
    assert len(next(n for n in model.graph.node if n.op_type == "Conv").input) == 3
    assert not {"ConvInteger", "MatMulInteger", "Floor", "BitShift"} & set(kinds)
    assert kinds["QuantizeLinear"] == 5 and kinds["DequantizeLinear"] >= 8
    expected = evaluate(module, {"x": x, **weights})
    # Relay rounds both sides of a sum; a unit of the last layer's input is a step of its weight and both scales.
    for got, want, step in zip(ReferenceEvaluator(model).run(None, {"x": x}), expected, (1, 2, 30.0), strict=True):
        assert got.dtype == want.dtype and np.ptp(want) > 2 * step
        assert np.abs(got.astype("float64") - want).max() <= step


@pytest.mark.promise("quantized operators as QDQ")
def test_exact_nodes_are_the_default_and_other_words_are_refused() -> None:
    module, weights = layers()
    assert {"ConvInteger", "MatMulInteger"} <= {n.op_type for n in exported(module, weights).graph.node}
    with pytest.raises(UsageError, match="neither exact nor qdq"):
        exported(module, weights, quantized="int8")


@pytest.mark.promise("quantized operators as QDQ")
def test_sums_at_another_scale_keep_their_integers() -> None:
    """A requantization that does not take the product of the scales is not what the layer stands for."""
    from onnx.reference import ReferenceEvaluator

    text = """
def @main(%x: Tensor[(2, 8), uint8]) {
  %0 = qnn.dense(%x, meta[relay.Constant][0], 3, 1, 0.5f, 0.25f, units=3, out_dtype="int32");
  qnn.requantize(%0, 0.25f, 0, 64f, 7, out_dtype="uint8")
}"""
    text = text.replace("%x: Tensor[(2, 8), uint8]", "%x: Tensor[(2, 8), uint8], %w: Tensor[(3, 8), int8]")
    module = infer_types(irtool.parse(f'#[version = "0.0.5"]\n{text.replace("meta[relay.Constant][0]", "%w")}'))
    x, w = integers(2, 8, dtype="uint8"), integers(3, 8)
    model = exported(module, {"w": w}, quantized="qdq")
    assert {"MatMulInteger", "QuantizeLinear"} <= {n.op_type for n in model.graph.node}
    (got,) = ReferenceEvaluator(model).run(None, {"x": x})
    assert np.abs(got.astype(int) - evaluate(module, [x, w])).max() <= 1
