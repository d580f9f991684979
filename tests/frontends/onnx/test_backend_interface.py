"""`irtool.onnx_backend` is a backend of ONNX: cases of ONNX's own suite run through it."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests

import irtool.onnx_backend
from irtool.diagnostics import IrError, UsageError

CASES = (
    "test_gemm_all_attributes",
    "test_conv_with_strides_padding",
    "test_softmax_axis_1",
    "test_top_k",
    "test_split_equal_parts_1d_opset18",
)


@pytest.fixture(scope="module")
def suite() -> dict[str, TestCase]:
    return {case.name: case for case in load_model_tests(kind="node")}


@pytest.mark.parametrize("engine", ["c", "interp"])
@pytest.mark.parametrize("name", CASES)
def test_cases_of_the_suite(name: str, engine: str, suite: dict[str, TestCase]) -> None:
    case = suite[name]
    model = irtool.onnx_backend.prepare(case.model, "CPU", engine)
    for inputs, outputs in case.data_sets:
        for actual, expected in zip(model.run(list(inputs)), outputs, strict=True):
            np.testing.assert_allclose(actual, expected, rtol=case.rtol, atol=1e-6)


def test_nodes_devices_and_engines() -> None:
    node = onnx.helper.make_node("Add", ["a", "b"], ["y"])
    (y,) = irtool.onnx_backend.run_node(node, [np.ones(3, "float32"), np.ones(1, "float32")])
    np.testing.assert_array_equal(y, [2, 2, 2])
    unknown = onnx.helper.make_model(onnx.helper.make_graph([onnx.helper.make_node("NoSuch", [], ["y"])], "g", [], []))
    assert irtool.onnx_backend.supports_device("CPU") and not irtool.onnx_backend.supports_device("CUDA:1")
    assert not irtool.onnx_backend.is_compatible(unknown)
    with pytest.raises(IrError, match="NoSuch"):
        irtool.onnx_backend.prepare(unknown)
    with pytest.raises(UsageError, match="on the device CPU, not on CUDA"):
        irtool.onnx_backend.prepare(unknown, "CUDA")
    with pytest.raises(UsageError, match="engine='tvm' is not one of c, llvm, interp"):
        irtool.onnx_backend.prepare(unknown, engine="tvm")
