"""Weights of 4 and 8 bits are unpacked where kernels read them: no unpacked tensor in memory, and the values of the interpreter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.ir import Constant, Expr, Function, Module, TensorType, Var
from irtool.ir.narrow import LIMITS
from irtool.ops.base import call
from irtool.schedule.pipeline import without

RNG = np.random.default_rng(0)
RANGES = {**LIMITS, "int8": (-128, 127), "uint8": (0, 255)}


def weights(
    shape: tuple[int, ...], dtype: str, zero: str = "", block: int = 32, axis: int = 1, scale: str = "float16"
) -> Expr:
    """Dequantized weights, whose zero is `""`, `number`, `points` or `floats`."""
    low, high = RANGES[dtype]
    stored = "int8" if dtype[0] == "i" else "uint8"
    few = tuple(-(-d // block) if n == axis else d for n, d in enumerate(shape))
    zeros = {
        "": Constant(np.asarray(0, "int32")),
        "number": Constant(np.asarray(3, "int32")),
        "points": Constant(RNG.integers(low, high + 1, few).astype(stored), dtype),
        "floats": Constant(RNG.standard_normal(few).astype("float32")),
    }
    data = Constant(RNG.integers(low, high + 1, shape).astype(stored), dtype)
    scales = Constant(RNG.uniform(0.5, 1.5, few).astype(scale))
    return call("qnn.dequantize_blocks", data, scales, zeros[zero], axis=axis, block_size=block)


def product(rows: int, columns: int, k: int, dtype: str, zero: str = "", block: int = 32) -> Module:
    """A dense layer."""
    x = Var("x", TensorType((rows, k), "float32"))
    layer = call("nn.dense", x, weights((columns, k), dtype, zero, block), units=columns)
    return irtool.infer_types(Module({"main": Function((x,), layer)}))


def check(module: Module, **options: object) -> irtool.Artifact:
    """Builds the module, and compares it with the interpreter."""
    shape = module["main"].params[0].checked_type.static_shape
    x = RNG.standard_normal(shape).astype("float32")
    artifact = irtool.build(module, **options)
    expected = np.asarray(irtool.evaluate(module, [x]))
    actual = np.asarray(artifact.run([x]))
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5 * max(1.0, np.abs(expected).max()))
    return artifact


@pytest.mark.parametrize("rows", [1, 3, 40])
@pytest.mark.parametrize("zero", ["", "number", "points", "floats"])
@pytest.mark.parametrize("dtype", RANGES)
def test_products(dtype: str, zero: str, rows: int) -> None:
    artifact = check(product(rows, 64, 128, dtype, zero))
    assert artifact.arena_bytes == 0
    assert artifact.report["weight_bytes"] <= 64 * 128 * (1 + (dtype[-1] == "8")) // 2 + 64 * 4 * 8


@pytest.mark.parametrize("block", [16, 64, 128, 256])
@pytest.mark.parametrize("k", [256, 272])
def test_blocks(block: int, k: int) -> None:
    assert check(product(1, 48, k, "int4", "points", block)).arena_bytes == 0


@pytest.mark.parametrize("mcpu", ["x86-64", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("dtype", ["int4", "uint4", "int8"])
def test_processors(mcpu: str, dtype: str) -> None:
    code = irtool.build(product(1, 64, 128, dtype, "points"), mcpu=mcpu, emit="c")
    assert code.report["arena_bytes"] == 0


@pytest.mark.parametrize("target", ["c", "llvm"])
def test_without_vectors(target: str) -> None:
    if target == "llvm":
        pytest.importorskip("llvmlite")
    check(product(2, 24, 96, "int4", "points"), target=target, vector=False)
    check(product(2, 24, 96, "uint4"), target=target)


def test_scales_that_are_packed_themselves() -> None:
    """The form of formats with a scale for blocks of blocks."""
    n, k = 32, 512
    scales = weights((n, k // 32), "uint8", block=8)
    minima = weights((n, k // 32), "uint8", "number", block=8)
    data = Constant(RNG.integers(0, 16, (n, k)).astype("uint8"), "uint4")
    matrix = call("qnn.dequantize_blocks", data, scales, minima, axis=1, block_size=32)
    x = Var("x", TensorType((1, k), "float32"))
    module = irtool.infer_types(Module({"main": Function((x,), call("nn.dense", x, matrix, units=n))}))
    artifact = check(module)
    assert artifact.arena_bytes == 0
    assert artifact.report["weight_bytes"] == n * k // 2 + 2 * n * k // 32 + 2 * 2 * n * k // 256


def test_rows_of_a_table() -> None:
    i = Var("i", TensorType((5,), "int32"))
    rows = call("take", weights((100, 64), "int4", "points"), i, axis=0)
    module = irtool.infer_types(Module({"main": Function((i,), rows)}))
    artifact = irtool.build(module)
    indices = np.array([3, 99, 0, 3, 50], "int32")
    np.testing.assert_array_equal(np.asarray(artifact.run([indices])), np.asarray(irtool.evaluate(module, [indices])))
    assert artifact.arena_bytes == 0


def test_two_readers_share_the_constants() -> None:
    matrix = weights((64, 64), "int4")
    x = Var("x", TensorType((2, 64), "float32"))
    twice = call("nn.dense", call("nn.relu", call("nn.dense", x, matrix, units=64)), matrix, units=64)
    module = irtool.infer_types(Module({"main": Function((x,), twice)}))
    artifact = check(module)
    assert artifact.report["weight_bytes"] == 64 * 64 // 2 + 2 * 64 * 2


def test_convolutions_and_batches() -> None:
    image = Var("x", TensorType((1, 32, 6, 6), "float32"))
    filters = weights((16, 32, 3, 3), "int8", block=16)
    layer = call("nn.conv2d", image, filters, channels=16, kernel_size=[3, 3], padding=[1, 1])
    check(irtool.infer_types(Module({"main": Function((image,), layer)})))
    batch = Var("x", TensorType((3, 2, 64), "float32"))
    layer = call("nn.batch_matmul", batch, weights((3, 8, 64), "int4", axis=2), transpose_b=True)
    check(irtool.infer_types(Module({"main": Function((batch,), layer)})))


def test_a_result_that_is_unpacked() -> None:
    module = irtool.infer_types(Module({"main": Function((), weights((4, 64), "uint4", "points"))}))
    np.testing.assert_array_equal(np.asarray(irtool.build(module).run([])), np.asarray(irtool.evaluate(module, [])))


def test_scales_are_multiplied_once_for_a_block(tmp_path: Path) -> None:
    module = product(1, 64, 128, "int4")

    def code() -> str:
        irtool.build(module, emit="c", mcpu="x86-64-v4", name="net", out_dir=tmp_path)
        return (tmp_path / "net.c").read_text()

    with without("HoistFactors"):
        each = code()
    assert "acc_part" in code() and "acc_part" not in each
