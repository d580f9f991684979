"""Weights of 2, 4 and 8 bits of ONNX models: they arrive packed, stay packed in C, and are what their definition in numpy says."""

from __future__ import annotations

import numpy as np
import pytest

import irtool

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from irtool.diagnostics import IrError  # noqa: E402
from irtool.ir.conversion import dtype_name  # noqa: E402

N, K, BLOCK = 24, 80, 32
BLOCKS = -(-K // BLOCK)


def model(nodes: list, weights: list, rows: int = 2, dtype: int = TensorProto.FLOAT) -> onnx.ModelProto:
    """The model of `y` of `x`."""
    ends = (
        [helper.make_tensor_value_info("x", dtype, (rows, K))],
        [helper.make_tensor_value_info("y", dtype, (rows, N))],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(helper.make_graph(nodes, "g", *ends, weights), opset_imports=opsets, ir_version=10)


def packed(numbers: np.ndarray, bits: int) -> np.ndarray:
    """Bytes of unsigned numbers along the last axis, the first in the low bits."""
    each = 8 // bits
    padded = np.pad(numbers, [(0, 0)] * (numbers.ndim - 1) + [(0, -numbers.shape[-1] % each)])
    parts = padded.reshape(*numbers.shape[:-1], -1, each) << (bits * np.arange(each))
    return parts.sum(-1).astype("uint8")


def product(bits: int, zeros: str, dtype: str = "float32") -> tuple[onnx.ModelProto, np.ndarray]:
    """A model of MatMulNBits, and its dequantized weights `(N, K)`."""
    rng = np.random.default_rng(bits)
    numbers = rng.integers(0, 1 << bits, (N, BLOCKS, BLOCK))
    scales = rng.uniform(0.01, 0.1, (N, BLOCKS)).astype(dtype)
    points = rng.integers(0, 1 << bits, (N, BLOCKS))
    weights = [numpy_helper.from_array(packed(numbers, bits), "w"), numpy_helper.from_array(scales.reshape(-1), "s")]
    names = ["x", "w", "s"]
    if zeros == "packed":
        weights.append(numpy_helper.from_array(packed(points, bits), "z"))
    elif zeros == "floats":
        weights.append(numpy_helper.from_array(points.astype(dtype), "z"))
    else:
        points = np.full_like(points, 1 << (bits - 1))
    node = helper.make_node(
        "MatMulNBits",
        names + ["z"] * (zeros != ""),
        ["y"],
        domain="com.microsoft",
        K=K,
        N=N,
        bits=bits,
        block_size=BLOCK,
    )
    real = ((numbers - points[..., None]) * scales[..., None].astype("float32")).reshape(N, -1)[:, :K]
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return model([node], weights, dtype=kind), real.astype(dtype)


@pytest.mark.parametrize("zeros", ["", "packed", "floats"])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_products_with_few_bits(bits: int, zeros: str) -> None:
    proto, real = product(bits, zeros)
    module, weights = irtool.from_onnx(proto)
    x = np.random.default_rng(1).standard_normal((2, K)).astype("float32")
    width = 8 if bits == 8 else 4
    assert f"w_{'uint' if zeros else 'int'}{width}" in weights
    np.testing.assert_allclose(irtool.evaluate(module, {"x": x, **weights}), x @ real.T, rtol=1e-4, atol=1e-4)
    artifact = irtool.build(module, params=weights)
    np.testing.assert_allclose(artifact.run([x]), x @ real.T, rtol=1e-4, atol=1e-4)
    stored = N * K * width // 8 + 4 * N * BLOCKS + bool(zeros) * N * -(-BLOCKS * width // 8)
    assert artifact.report["weight_bytes"] == stored


def test_products_in_float16() -> None:
    proto, real = product(4, "", "float16")
    module, weights = irtool.from_onnx(proto)
    x = np.random.default_rng(1).standard_normal((2, K)).astype("float16")
    expected = x.astype("float32") @ real.astype("float32").T
    np.testing.assert_allclose(irtool.evaluate(module, {"x": x, **weights}), expected, rtol=1e-2, atol=1e-2)
    assert dtype_name(weights["s"] if "s" in weights else weights["s_float16"]) == "float16"


@pytest.mark.parametrize("kind", ["INT4", "UINT4", "INT8", "UINT8"])
@pytest.mark.parametrize("form", ["(K, N)", "(N, K)"])
def test_dequantize_linear_in_blocks(kind: str, form: str) -> None:
    rng = np.random.default_rng(3)
    bits, low = int(kind[-1]), -(1 << int(kind[-1]) - 1) if kind[0] == "I" else 0
    axis = 0 if form == "(K, N)" else 1
    few = (BLOCKS, N) if axis == 0 else (N, BLOCKS)
    numbers, points = (rng.integers(low, low + (1 << bits), s) for s in ((K, N) if axis == 0 else (N, K), few))
    scales = rng.uniform(0.01, 0.1, few).astype("float32")
    number = getattr(TensorProto, kind)
    weights = [
        helper.make_tensor("w", number, numbers.shape, numbers.ravel()),
        helper.make_tensor("z", number, few, points.ravel()),
        numpy_helper.from_array(scales, "s"),
    ]
    nodes = [helper.make_node("DequantizeLinear", ["w", "s", "z"], ["d"], axis=axis, block_size=BLOCK)]
    nodes += [] if axis == 0 else [helper.make_node("Transpose", ["d"], ["t"], perm=[1, 0])]
    nodes.append(helper.make_node("MatMul", ["x", "d" if axis == 0 else "t"], ["y"]))
    zero, scale = (np.repeat(v, BLOCK, axis).take(range(K), axis) for v in (points, scales))
    real = (numbers - zero) * scale
    module, params = irtool.from_onnx(model(nodes, weights))
    x = rng.standard_normal((2, K)).astype("float32")
    expected = x @ (real if axis == 0 else real.T)
    np.testing.assert_allclose(irtool.evaluate(module, {"x": x, **params}), expected, rtol=1e-4, atol=1e-4)
    artifact = irtool.build(module, params=params)
    np.testing.assert_allclose(artifact.run([x]), expected, rtol=1e-4, atol=1e-4)
    zero_bytes = N * -(-BLOCKS * bits // 8)
    assert artifact.report["weight_bytes"] == N * K * bits // 8 + 4 * N * BLOCKS + zero_bytes


def test_a_table_that_two_nodes_read_is_one_parameter() -> None:
    rng = np.random.default_rng(0)
    weights = [
        helper.make_tensor("w", TensorProto.INT4, (N, K), rng.integers(-8, 8, N * K)),
        numpy_helper.from_array(rng.random((N, BLOCKS)).astype("float32"), "s"),
        numpy_helper.from_array(np.array([3, 1]), "i"),
    ]
    gather = {"gather_axis": 0, "quantize_axis": 1, "block_size": BLOCK}
    nodes = [
        helper.make_node("GatherBlockQuantized", ["w", "i", "s"], ["rows"], domain="com.microsoft", **gather),
        helper.make_node("Add", ["x", "rows"], ["sum"]),
        helper.make_node("DequantizeLinear", ["w", "s"], ["d"], axis=1, block_size=BLOCK),
        helper.make_node("Transpose", ["d"], ["t"], perm=[1, 0]),
        helper.make_node("MatMul", ["sum", "t"], ["y"]),
    ]
    module, params = irtool.from_onnx(model(nodes, weights))
    assert [n for n in params if n.startswith("w")] == ["w_int4"]
    assert irtool.build(module, params=params).report["weight_bytes"] <= N * K // 2 + 4 * N * BLOCKS + 16


def test_zero_points_of_another_shape() -> None:
    proto, _ = product(4, "packed")
    proto.graph.initializer[2].CopyFrom(numpy_helper.from_array(np.zeros(5, "uint8"), "z"))
    with pytest.raises(IrError, match="zero_points has the shape"):
        irtool.from_onnx(proto)
