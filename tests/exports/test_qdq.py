"""Quantized programs as ONNX nodes between QuantizeLinear and DequantizeLinear: within a unit or two of irtool's integers."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import UsageError
from irtool.exports import Request
from irtool.infer import infer_types
from irtool.interp import evaluate

pytest.importorskip("onnx")

rng = np.random.default_rng(0)


def integers(*shape: int, dtype: str = "int8") -> Any:
    info = np.iinfo(dtype)
    low, high = (-300, 300) if dtype == "int32" else (info.min, info.max + 1)
    return rng.integers(low, high, shape).astype(dtype)


LAYERS = """
def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), int8], %b: Tensor[(4), int32], %d: Tensor[(5, 16), int8]) {
  %0 = qnn.quantize(%x, 0.03f, 3, out_dtype="uint8");
  %1 = qnn.conv2d(%0, %w, 3, 0, 0.03f, meta[relay.Constant][0], padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3], out_dtype="int32");
  %2 = nn.bias_add(%1, %b);
  %3 = qnn.requantize(%2, meta[relay.Constant][1], 0, 0.2f, 128, axis=1, out_dtype="uint8");
  %4 = nn.max_pool2d(%3, pool_size=[2, 2], strides=[2, 2]);
  %5 = qnn.add(%4, %4, 0.2f, 128, 0.2f, 128, 0.4f, 120);
  %6 = qnn.sigmoid(%5, 0.4f, 120, 0.004f, 0);
  %7 = qnn.concatenate((%5, %6), (0.4f, 0.004f), (120, 0), 0.35f, 110, axis=2);
  %8 = reshape(%7, newshape=[8, 16]);
  %9 = qnn.dense(%8, %d, 110, 2, 0.35f, 0.02f, units=5, out_dtype="int32");
  (%3, %7, qnn.dequantize(%9, 0.007f, 0))
}
"""


def layers() -> Any:
    scales = np.array([0.01, 0.02, 0.005, 0.03], "float32")
    module = irtool.parse('#[version = "0.0.5"]\n' + LAYERS.replace("meta[relay.Constant][0]", "%s").replace(
        "meta[relay.Constant][1]", "%t").replace("%d: Tensor[(5, 16), int8])", "%d: Tensor[(5, 16), int8], %s: Tensor[(4), float32], %t: Tensor[(4), float32])"))  # fmt: skip
    weights = {
        "w": integers(4, 3, 3, 3), "b": integers(4, dtype="int32"), "d": integers(5, 16),
        "s": scales, "t": scales * np.float32(0.03),
    }  # fmt: skip
    return infer_types(module), weights


def exported(module: Any, weights: dict[str, Any], **options: Any) -> Any:
    from irtool.exports.onnx.format import Onnx

    return Onnx(**options).model(module, Request("net.onnx", "main", weights))[0]


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
    wanted = evaluate(module, {"x": x, **weights})
    # Relay rounds both sides of a sum; a unit of the last layer's input is a step of its weight and both scales.
    for got, want, step in zip(ReferenceEvaluator(model).run(None, {"x": x}), wanted, (1, 2, 30.0), strict=True):
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
