"""Integers of 4 bits in arrays, texts, parameter files and generated code."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.interp.random_inputs import random_inputs
from irtool.ir import Constant, Function, Module, TensorType, Var
from irtool.ir.conversion import dtype_name, marked
from irtool.ir.narrow import LIMITS, NARROW, pack, pack_rows, unpack
from irtool.ops.base import call
from irtool.parser.params import decode_params, encode_params, read_params, write_params


def elements(dtype: str, *shape: int) -> np.ndarray:
    """Every number of 4 bits, over and over."""
    low, high = LIMITS[dtype]
    count = int(np.prod(shape))
    return np.resize(np.arange(low, high + 1), count).astype(NARROW[dtype]).reshape(shape)


def network(weights: np.ndarray, dtype: str, block: int = 4) -> Module:
    """A matrix of 4-bit numbers, dequantized, and added to the input."""
    rows, columns = weights.shape
    scales = np.linspace(0.25, 2, rows * -(-columns // block), dtype="float32").reshape(rows, -1)
    real = call(
        "qnn.dequantize_blocks",
        Constant(weights, dtype),
        Constant(scales),
        Constant(np.asarray(3, "int32")),
        block_size=block,
    )
    x = Var("x", TensorType(weights.shape, "float32"))
    return irtool.infer_types(Module({"main": Function((x,), call("add", x, real))}))


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("count", [0, 1, 2, 7, 16])
def test_packing_is_undone(dtype: str, count: int) -> None:
    array = elements(dtype, count)
    assert pack(array).size == -(-count // 2)
    np.testing.assert_array_equal(unpack(pack(array), count, dtype), array)


def test_the_first_number_is_in_the_low_bits() -> None:
    assert pack(np.array([1, 2, -1], "int8")).tolist() == [0x21, 0x0F]
    assert pack_rows(np.array([[1, 2, 3], [4, 5, 6]], "uint8")).tolist() == [[0x21, 0x03], [0x54, 0x06]]


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("columns", [1, 5, 8])
def test_text_is_read_back(dtype: str, columns: int) -> None:
    module = network(elements(dtype, 3, columns), dtype)
    text = irtool.to_text(module, metadata=True)
    assert f"Tensor[(3, {columns}), {dtype}]" in text
    again = irtool.infer_types(irtool.parse(text))
    assert irtool.structural_equal(again, module)
    assert irtool.to_text(again, metadata=True) == text


def test_text_has_two_numbers_in_a_byte() -> None:
    text = irtool.to_text(network(elements("int4", 64, 64), "int4"), metadata=True)
    section = json.loads(text[text.index("#[metadata]") + len("#[metadata]") :])
    sizes = [len(base64.b64decode(t)) for t in section["b64ndarrays"]]
    assert min(abs(n - 64 * 64 // 2) for n in sizes) < 100


def test_dtypes_tell_constants_apart() -> None:
    weights = elements("uint4", 2, 4) & np.uint8(7)
    assert not irtool.structural_equal(network(weights, "uint4"), network(weights.view("int8"), "int4"))


@pytest.mark.parametrize("dtype", NARROW)
def test_parameter_files(dtype: str, tmp_path: Path) -> None:
    array = marked(elements(dtype, 3, 5), dtype)
    params = decode_params(encode_params({"w": array}))
    assert dtype_name(params["w"]) == dtype
    np.testing.assert_array_equal(params["w"], array)
    for name in ("w.params", "w.npz"):
        write_params(tmp_path / name, {"w": array})
        w = Var("w", TensorType((3, 5), dtype))
        body = call("qnn.dequantize_blocks", w, Constant(np.ones((3, 1), "float32")), Constant(np.asarray(0, "int32")))
        module = Module({"main": Function((w,), body)})
        result = irtool.build(module, params=read_params(tmp_path / name)).run([])
        np.testing.assert_array_equal(np.asarray(result), array.astype("float32"))


def test_damaged_parameters() -> None:
    data = bytearray(encode_params({"w": marked(elements("int4", 4, 4), "int4")}))
    size = data.rindex((8).to_bytes(8, "little"))
    data[size] = 16
    with pytest.raises(ValueError, match="of int4 takes 8 bytes, not 16"):
        decode_params(bytes(data))


def test_values_beyond_4_bits() -> None:
    w = Var("w", TensorType((2,), "int4"))
    body = call("qnn.dequantize_blocks", w, Constant(np.ones(1, "float32")), Constant(np.asarray(0, "int32")))
    module = Module({"main": Function((w,), body)})
    assert np.asarray(irtool.build(module, params={"w": np.array([7, -8])}).run([])).tolist() == [7, -8]
    for values in (np.array([8, 0]), np.array([0, -9], "int8")):
        with pytest.raises(IrError, match="is no int4, which goes from -8 to 7"):
            irtool.build(module, params={"w": values})


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("target", ["c", "llvm"])
def test_compiled_code(dtype: str, target: str) -> None:
    if target == "llvm":
        pytest.importorskip("llvmlite")
    for columns in (1, 7, 32):
        module = network(elements(dtype, 5, columns), dtype)
        x = np.zeros((5, columns), "float32")
        artifact = irtool.build(module, target=target)
        np.testing.assert_array_equal(np.asarray(artifact.run([x])), np.asarray(irtool.evaluate(module, [x])))
        assert artifact.report["weight_bytes"] == 5 * -(-columns // 2) + 4 * 5 * -(-columns // 4)


def test_only_constants_are_compiled() -> None:
    w = Var("w", TensorType((4,), "int4"))
    with pytest.raises(IrError, match="int4 cannot be compiled to C"):
        irtool.build(Module({"main": Function((w,), call("cast", w, dtype="float32"))}))
    constant = Constant(elements("int4", 4), "int4")
    with pytest.raises(IrError, match="int4 cannot be compiled to C"):
        irtool.build(Module({"main": Function((), call("add", constant, constant))}))


@pytest.mark.parametrize("dtype", NARROW)
def test_random_parameters(dtype: str) -> None:
    w = Var("w", TensorType((64, 8), dtype))
    body = call("qnn.dequantize_blocks", w, Constant(np.ones((64, 1), "float32")), Constant(np.asarray(0, "int32")))
    module = irtool.infer_types(Module({"main": Function((w,), body)}))
    (value,) = random_inputs(module["main"], 0, module)
    assert dtype_name(value) == dtype
    assert (value.min(), value.max()) == LIMITS[dtype]
    np.testing.assert_array_equal(irtool.evaluate(module, [value]), value.astype("float32"))
