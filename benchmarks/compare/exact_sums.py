"""Sessions of ONNX Runtime that sum products of bytes exactly.

On x86 without VNNI, ONNX Runtime multiplies unsigned by signed bytes with `vpmaddubsw`, which saturates sums of two products at 16 bits.
Its kernels for two unsigned operands do not. Signed weights become unsigned ones of the same values, 128 higher with their zero points.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

_QLINEAR = ("QLinearConv", "QLinearMatMul", "QGemm")
_ZERO_POINT, _WEIGHTS, _WEIGHTS_ZERO_POINT = 2, 3, 5
"""Inputs of each of them."""


def exact_options() -> Any:
    """Options of a session that makes weights of QDQ models unsigned while it optimizes."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    return options


def exact_session(model: Path | bytes, optimized: bool = True) -> Any:
    """A session with all optimizations, or one that computes operator by operator what the model says."""
    import onnx
    import onnxruntime

    proto = onnx.load_from_string(model) if isinstance(model, bytes) else onnx.load(model)
    is_qlinear = any(n.op_type in _QLINEAR for n in proto.graph.node)
    # The option makes weights of QLinear models unsigned beside signed activations too, for which there is no kernel.
    options = onnxruntime.SessionOptions() if is_qlinear or not optimized else exact_options()
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    source = with_unsigned_weights(proto).SerializeToString() if is_qlinear else model
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def with_unsigned_weights(model: Any) -> Any:
    """The model with unsigned weights for the QLinear operators whose activations are unsigned.

    Weights that are no initializers, and those without a zero point, stay.
    """
    import onnx
    from onnx import numpy_helper

    converted = onnx.ModelProto()
    converted.CopyFrom(model)
    constants = {i.name: i for i in converted.graph.initializer}
    unsigned: dict[str, str] = {}
    for node in converted.graph.node:
        if node.op_type not in _QLINEAR:
            continue
        zero_point = constants.get(node.input[_ZERO_POINT])
        pair = [constants.get(node.input[k]) for k in (_WEIGHTS, _WEIGHTS_ZERO_POINT)]
        if zero_point is None or zero_point.data_type != onnx.TensorProto.UINT8:
            continue
        for k, tensor in zip((_WEIGHTS, _WEIGHTS_ZERO_POINT), pair, strict=True):
            if None in pair or tensor is None or tensor.data_type != onnx.TensorProto.INT8:
                continue
            name = unsigned.setdefault(tensor.name, f"{tensor.name}_unsigned")
            if name not in constants:
                array = numpy_helper.to_array(tensor).astype(np.int16) + 128
                constants[name] = converted.graph.initializer.add()
                constants[name].CopyFrom(numpy_helper.from_array(array.astype(np.uint8), name))
            node.input[k] = name
    return converted
