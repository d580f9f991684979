"""Small networks, one for each kind of layer, in ONNX: float32, and as ONNX Runtime's quantizer makes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Shape = tuple[int, ...]
IMAGE: Shape = (1, 12, 14, 14)
ROWS: Shape = (6, 40)
Node = tuple[str, Sequence[str], dict[str, Any]]
"""An operator, its inputs, its attributes; a result is called after its place, `t0`, `t1`, …"""


def _conv(data: str, weight: str, **attributes: Any) -> Node:
    return "Conv", (data, weight, f"{weight}_bias"), {"kernel_shape": [3, 3], "pads": [1] * 4, **attributes}


NETWORKS: dict[str, tuple[Shape, dict[str, Shape], Sequence[Node]]] = {
    "convolution": (IMAGE, {"w": (20, 12, 3, 3)}, [_conv("x", "w")]),
    "strided convolution": (IMAGE, {"w": (20, 12, 3, 3)}, [_conv("x", "w", strides=[2, 2])]),
    "grouped convolution": (IMAGE, {"w": (24, 3, 3, 3)}, [_conv("x", "w", group=4)]),
    "groups of four": ((1, 32, 20, 20), {"w": (48, 4, 3, 3)}, [_conv("x", "w", group=8)]),
    "groups of eight": ((1, 104, 14, 14), {"w": (104, 8, 3, 3)}, [_conv("x", "w", group=13, strides=[2, 2])]),
    "depthwise": (IMAGE, {"w": (12, 1, 3, 3)}, [_conv("x", "w", group=12)]),
    "strided depthwise": (IMAGE, {"w": (12, 1, 3, 3)}, [_conv("x", "w", group=12, strides=[2, 2])]),
    "dense": (ROWS, {"w": (40, 30)}, [("Gemm", ("x", "w", "w_bias"), {})]),
    "product": (ROWS, {"w": (40, 30)}, [("MatMul", ("x", "w"), {})]),
    "product of data": ((4, 6, 40), {}, [("Transpose", ("x",), {"perm": [0, 2, 1]}), ("MatMul", ("x", "t0"), {})]),
    "relu": (IMAGE, {"w": (20, 12, 3, 3)}, [_conv("x", "w"), ("Relu", ("t0",), {})]),
    "clip": (
        IMAGE,
        {"w": (20, 12, 3, 3), "low": (), "high": ()},
        [_conv("x", "w"), ("Clip", ("t0", "low", "high"), {})],
    ),
    "sigmoid": (IMAGE, {"w": (20, 12, 3, 3)}, [_conv("x", "w"), ("Sigmoid", ("t0",), {})]),
    "leaky relu": (IMAGE, {"w": (20, 12, 3, 3)}, [_conv("x", "w"), ("LeakyRelu", ("t0",), {"alpha": 0.1})]),
    "swish": (
        IMAGE,
        {"w": (20, 12, 3, 3)},
        [_conv("x", "w"), ("Sigmoid", ("t0",), {}), ("Mul", ("t0", "t1"), {})],
    ),
    "softmax": (ROWS, {"w": (40, 30)}, [("MatMul", ("x", "w"), {}), ("Softmax", ("t0",), {"axis": -1})]),
    "add": (
        IMAGE,
        {"w": (12, 12, 3, 3), "v": (12, 12, 3, 3)},
        [_conv("x", "w"), _conv("x", "v"), ("Add", ("t0", "t1"), {})],
    ),
    "residual": (IMAGE, {"w": (12, 12, 3, 3)}, [_conv("x", "w"), ("Add", ("t0", "x"), {}), ("Relu", ("t1",), {})]),
    "multiply": (
        IMAGE,
        {"w": (12, 12, 3, 3), "v": (12, 12, 3, 3)},
        [_conv("x", "w"), _conv("x", "v"), ("Mul", ("t0", "t1"), {})],
    ),
    "concatenate": (
        IMAGE,
        {"w": (12, 12, 3, 3), "v": (9, 12, 3, 3)},
        [_conv("x", "w"), _conv("x", "v"), ("Concat", ("t0", "t1", "x"), {"axis": 1})],
    ),
    "max pool": (
        IMAGE,
        {"w": (20, 12, 3, 3)},
        [_conv("x", "w"), ("MaxPool", ("t0",), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4})],
    ),
    "average pool": (
        IMAGE,
        {"w": (20, 12, 3, 3)},
        [
            _conv("x", "w"),
            ("AveragePool", ("t0",), {"kernel_shape": [3, 3], "strides": [2, 2]}),
        ],  # no mean of 9 is a tie
    ),
    "global pool": (IMAGE, {"w": (20, 12, 3, 3)}, [_conv("x", "w"), ("GlobalAveragePool", ("t0",), {})]),
    "transposed convolution": (
        IMAGE,
        {"w": (12, 10, 2, 2)},
        [("ConvTranspose", ("x", "w", "w_bias"), {"kernel_shape": [2, 2], "strides": [2, 2]})],
    ),
    "enlarging": (
        IMAGE,
        {"w": (10, 12, 3, 3), "scales": (4,)},
        [_conv("x", "w"), ("Resize", ("t0", "", "scales"), {"mode": "nearest"})],
    ),
}
"""By name: the shape of the input, those of the constants, the nodes."""

_GIVEN = {"low": 0.0, "high": 2.5, "scales": [1.0, 1.0, 2.0, 2.0]}


def save(name: str, path: Path) -> None:
    """Writes the network in float32, each time the same."""
    import onnx

    shape, constants, nodes = NETWORKS[name]
    random = np.random.default_rng(0)
    values = {}
    for n, s in constants.items():
        if n in _GIVEN:
            values[n] = np.asarray(_GIVEN[n], "float32")
            continue
        values[n] = (random.normal(size=s) / np.sqrt(np.prod(s[1:]))).astype("float32")
        values[f"{n}_bias"] = random.normal(0, 0.3, s[1] if "Transpose" in nodes[0][0] or len(s) == 2 else s[0])
    named = [
        onnx.helper.make_node(op, inputs, [f"t{n}"], name=f"n{n}", **attributes)
        for n, (op, inputs, attributes) in enumerate(nodes)
    ]
    used = {i for _, inputs, _ in nodes for i in inputs}
    last = f"t{len(nodes) - 1}"
    graph = onnx.helper.make_graph(
        named,
        "net",
        [onnx.helper.make_tensor_value_info("x", 1, shape)],
        [onnx.helper.make_tensor_value_info(last, 1, None)],
        [onnx.numpy_helper.from_array(v.astype("float32"), n) for n, v in values.items() if n in used],
    )
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9), path)


def inputs_of(name: str, seed: int) -> dict[str, np.ndarray]:
    """Random inputs."""
    return {"x": np.random.default_rng(seed).normal(size=NETWORKS[name][0]).astype("float32")}


def reader(samples: Sequence[dict[str, np.ndarray]]) -> Any:
    """What ONNX Runtime's quantizer reads samples from."""
    from onnxruntime.quantization import CalibrationDataReader

    class Reader(CalibrationDataReader):  # type: ignore[misc]  # onnxruntime's class has no type
        def __init__(self) -> None:
            self.rest = iter(samples)

        def get_next(self) -> dict[str, np.ndarray] | None:
            return next(self.rest, None)

    return Reader()


Quantize = Callable[[Path, Path, Sequence[dict[str, np.ndarray]]], None]


def _quantized(kind: str, data: str) -> Quantize:
    def quantize(source: Path, target: Path, samples: Sequence[dict[str, np.ndarray]]) -> None:
        from onnxruntime import quantization

        quantization.quantize_static(
            source,
            target,
            reader(samples),
            quant_format=quantization.QuantFormat[kind],
            per_channel=True,
            activation_type=quantization.QuantType[data],
            weight_type=quantization.QuantType.QInt8,
        )

    return quantize


WAYS: dict[str, Quantize] = {
    "QDQ, uint8": _quantized("QDQ", "QUInt8"),
    "QDQ, int8": _quantized("QDQ", "QInt8"),
    "QLinear, uint8": _quantized("QOperator", "QUInt8"),
    "QLinear, int8": _quantized("QOperator", "QInt8"),
}
"""Ways to quantize: a source, a target, samples for calibration."""
