"""Quantized layers, and their export with quantization nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

import irtool
from irtool.exports import Request
from irtool.infer import infer_types

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
