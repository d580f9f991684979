"""Small models in ONNX's text form: imported, evaluated, and compared with the evaluator that the `onnx` package has."""

from __future__ import annotations

from typing import Any

import numpy as np

import irtool


def parse(graph: str, opset: int = 17, microsoft: bool = False, functions: str = "") -> Any:
    """The model of a graph in text form."""
    import onnx.parser

    others = ', "com.microsoft": 1' if microsoft else ""
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}{others}]>\n{graph}\n{functions}')


def inputs_of(model: Any, seed: int = 0) -> dict[str, Any]:
    """Numbers for the inputs of a model: floats around 0, integers of one digit."""
    import onnx.helper

    rng = np.random.default_rng(seed)
    inputs = {}
    for i in model.graph.input:
        tensor = i.type.tensor_type
        shape = [d.dim_value for d in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        values = rng.standard_normal(shape) if dtype.kind == "f" else rng.integers(0, 5, shape)
        inputs[i.name] = values.astype(dtype)
    return inputs


def evaluated(model: Any, inputs: dict[str, Any], compiled: bool = False) -> list[Any]:
    """The outputs by irtool: by the interpreter, or by compiled C."""
    module, params = irtool.from_onnx(model)
    if compiled:
        outputs = irtool.build(module, params, opt_level=3, cflags="-O1").run(inputs)
    else:
        outputs = irtool.evaluate(module, {**inputs, **params})
    return list(outputs) if isinstance(outputs, tuple | list) else [outputs]


def check(graph: str, opset: int = 17, rtol: float = 1e-4, atol: float = 1e-5, seed: int = 0) -> Any:
    """Asserts that the interpreter agrees with the evaluator of the `onnx` package; the module."""
    from onnx.reference import ReferenceEvaluator

    model = parse(graph, opset)
    inputs = inputs_of(model, seed)
    expected = ReferenceEvaluator(model).run(None, inputs)
    for f, w in zip(evaluated(model, inputs), expected, strict=True):
        assert f.dtype == w.dtype
        np.testing.assert_allclose(f, w, rtol, atol)
    return irtool.from_onnx(model)[0]
