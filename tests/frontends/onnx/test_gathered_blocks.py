"""`com.microsoft.GatherBlockQuantized`: equal to numpy's gather of what is dequantized, and to ONNX Runtime where that is installed."""

from __future__ import annotations

import numpy as np
import pytest

import irtool

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper  # noqa: E402

from irtool.diagnostics import IrError  # noqa: E402

CASES = {
    "bytes of 4 bits": ("uint8", 4, (6, 40), 0, 1, 16, True, (2, 2)),
    "bytes of 4 bits without zero points": ("uint8", 4, (6, 32), 0, 1, 16, False, (3,)),
    "bytes": ("uint8", 8, (6, 48), 0, 1, 32, True, (3,)),
    "bytes without zero points": ("uint8", 8, (6, 32), 0, -1, 16, False, ()),
    "signed": ("int4", 4, (5, 36), 0, 1, 16, True, (4,)),
    "signed without zero points": ("int4", 4, (5, 32), 0, 1, 32, False, (4,)),
    "unsigned, other axes": ("uint4", 4, (20, 3, 4), 2, 0, 16, True, (2,)),
    "blocks along what is gathered": ("uint4", 4, (20, 3), 0, 0, 16, True, (2, 3)),
}


def model(case: tuple) -> tuple[onnx.ModelProto, np.ndarray, np.ndarray]:
    """The model of its indices, some of them, and what they give."""
    kind, bits, shape, gather, blocked, size, has_zeros, picked = case
    rng = np.random.default_rng(0)
    low = -8 if kind == "int4" else 0
    data = rng.integers(low, low + (1 << bits), shape)
    axis = blocked % len(shape)
    few = tuple(-(-d // size) if k == axis else d for k, d in enumerate(shape))
    scales = rng.uniform(0.5, 2, few).astype("float32")
    default = 1 << (bits - 1) if kind == "uint8" else 0
    zeros = rng.integers(low, low + (1 << bits), few) if has_zeros else np.full(few, default)
    whole = np.repeat(zeros, size, axis), np.repeat(scales, size, axis)
    zero, scale = (np.take(v, range(shape[axis]), axis) for v in whole)
    indices = rng.integers(-shape[gather], shape[gather], picked).astype("int64")
    expected = np.take((data - zero).astype("float32") * scale, indices, gather)
    weights = [stored("data", kind, bits, data), helper.make_tensor("scales", 1, few, scales.ravel())]
    weights += [stored("zeros", kind, bits, zeros)] if has_zeros else []
    attributes = {"gather_axis": gather, "quantize_axis": blocked, "block_size": size, "bits": bits}
    names = ["data", "i", "scales", *(["zeros"] if has_zeros else [])]
    node = helper.make_node("GatherBlockQuantized", names, ["y"], domain="com.microsoft", **attributes)
    ends = (
        [helper.make_tensor_value_info("i", TensorProto.INT64, picked)],
        [helper.make_tensor_value_info("y", 1, None)],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    proto = helper.make_model(helper.make_graph([node], "g", *ends, weights), opset_imports=opsets, ir_version=10)
    return proto, indices, expected


def stored(name: str, kind: str, bits: int, array: np.ndarray) -> onnx.TensorProto:
    """The tensor; bytes hold as many elements of the last axis as there is room for."""
    if kind != "uint8":
        number = TensorProto.INT4 if kind == "int4" else TensorProto.UINT4
        return helper.make_tensor(name, number, array.shape, array.ravel())
    each = 8 // bits
    padded = np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, -array.shape[-1] % each)])
    rows = padded.reshape(*array.shape[:-1], -1, each) << (bits * np.arange(each))
    return helper.make_tensor(name, TensorProto.UINT8, rows.shape[:-1], rows.sum(-1).ravel())


@pytest.mark.parametrize("name", CASES)
def test_rows_are_those_of_the_dequantized_table(name: str) -> None:
    proto, indices, expected = model(CASES[name])
    module, weights = irtool.from_onnx(proto)
    actual = irtool.evaluate(module, {"i": indices, **weights})
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("name", [n for n in CASES if "along what" not in n])
def test_onnx_runtime_agrees(name: str) -> None:
    runtime = pytest.importorskip("onnxruntime")
    proto, indices, expected = model(CASES[name])
    try:
        session = runtime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    except runtime.capi.onnxruntime_pybind11_state.NotImplemented as error:
        pytest.skip(f"this version has no such kernel: {error}")
    np.testing.assert_allclose(session.run(None, {"i": indices})[0], expected, rtol=1e-6)


def test_what_no_table_can_be_is_refused() -> None:
    kind, bits, shape, gather, blocked, _, zeros, picked = CASES["bytes"]
    for case, says in (
        ((kind, bits, shape, gather, blocked, 24, zeros, picked), "block_size is 24"),
        ((kind, 3, shape, gather, blocked, 16, False, picked), "3 bits"),
        ((kind, 8, shape, 1, 0, 16, zeros, picked), "along the first axis"),
    ):
        with pytest.raises(IrError, match=says):
            irtool.from_onnx(model(case)[0])
