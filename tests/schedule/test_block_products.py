"""Products of integers in blocks: the bits of their definition from every instruction, without memory for the blocks."""

from __future__ import annotations

import platform
import shutil
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.ir import Constant, Function, Module, TensorType, Tuple, TupleGetItem, Var
from irtool.ops.base import call
from irtool.schedule.instructions.packed_words import pack_words
from irtool.symbolic_int import symbolic

RNG = np.random.default_rng(5)
RANGES = {"int4": (-8, 8), "uint4": (0, 16), "int8": (-128, 128), "uint8": (0, 256)}
needs_clang = pytest.mark.skipif(shutil.which("clang") is None, reason="no clang")


def network(
    rows: int, units: int, k: int, block: int, dtype: str, zeros: bool = False
) -> tuple[Module, dict[str, Any]]:
    """A product of quantized data, and its inputs; `zeros`: one for each block."""
    low, high = RANGES[dtype]
    stored = "uint8" if dtype.startswith("u") else "int8"
    weights = RNG.integers(low, high, (units, k)).astype(stored)
    scales = RNG.uniform(0.01, 0.02, (units, -(-k // block))).astype("float16")
    zero = Constant(RNG.integers(low, high, scales.shape).astype(stored)) if zeros else Constant(np.asarray(3, "int32"))
    x = Var("x", TensorType((rows, k), "float32"))
    q = call("qnn.quantize_blocks", x, block_size=block)
    fields = TupleGetItem(q, 0), TupleGetItem(q, 1)
    y = call("qnn.dense_blocks", *fields, Constant(weights, dtype), Constant(scales), zero, block_size=block)
    module = irtool.infer_types(Module({"main": Function((x,), Tuple((y, fields[1])))}))
    return module, {"x": RNG.standard_normal((rows, k)).astype("float32")}


def check(module: Module, inputs: dict[str, Any], **options: Any) -> Any:
    """Asserts that a build gives the bits of the interpreter; the artifact."""
    artifact = irtool.build(module, math="strict", cflags="-O1", **options)
    for actual, expected in zip(artifact.run(inputs), irtool.evaluate(module, inputs), strict=True):
        np.testing.assert_array_equal(actual, expected)
    return artifact


CASES = {
    "one row": (1, 96, 128, 32, "uint4", False),
    "several rows": (7, 64, 96, 32, "uint4", False),
    "zeros of blocks": (3, 48, 64, 16, "uint4", True),
    "blocks of a word": (2, 32, 40, 8, "uint4", True),
    "blocks that no word divides": (2, 32, 36, 12, "uint4", False),
    "a shorter block": (2, 32, 50, 16, "uint4", False),
    "few columns": (4, 5, 64, 32, "uint4", False),
    "signed weights of 4 bits": (3, 32, 64, 32, "int4", True),
    "bytes": (2, 64, 128, 32, "int8", False),
    "unsigned bytes, zeros of blocks": (5, 32, 64, 16, "uint8", True),
    "long blocks": (1, 32, 512, 256, "uint8", False),
}


@pytest.mark.parametrize("target", ["c", pytest.param("llvm", marks=needs_clang)])
@pytest.mark.parametrize("case", CASES)
def test_bits(case: str, target: str) -> None:
    check(*network(*CASES[case]), target=target)


@pytest.mark.parametrize("mcpu", ["none", "x86-64", "x86-64-v3", "x86-64-v4"])
def test_bits_of_processors_with_other_instructions(mcpu: str) -> None:
    if mcpu != "none" and platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("another processor")
    for dtype in ("uint4", "int8"):
        artifact = check(*network(16, 48, 256, 32, dtype), mcpu=mcpu)
        assert artifact.arena_bytes < 4 * 16 * 48 * 8


def test_blocks_have_no_memory() -> None:
    rows, units, k, block = 16, 256, 512, 32
    for dtype in ("uint4", "int8"):
        artifact = check(*network(rows, units, k, block, dtype))
        assert artifact.arena_bytes < 4 * rows * units * (k // block) // 4


def test_words_hold_eight_neighbours() -> None:
    numbers = RNG.integers(0, 16, (3, 24)).astype("uint8")
    words = pack_words(numbers[:, ::2] | numbers[:, 1::2] << 4).view("uint32")
    assert words.shape == (3, 3)
    for row, word, place in np.ndindex(3, 3, 8):
        shift = 8 * (place % 4) + 4 * (place // 4)
        assert words[row, word] >> shift & 15 == numbers[row, 8 * word + place]


@pytest.mark.parametrize("dtype", ["uint4", "int8"])
def test_rows_that_a_run_counts(dtype: str) -> None:
    module, _ = network(1, 64, 96, 32, dtype)
    main = module["main"]
    (x,) = main.params  # type: ignore[union-attr]  # a function of Relay
    text = (
        irtool.to_text(module).replace("Tensor[(1, 96), float32]", "Tensor[(?, 96), float32]").replace("(1, ", "(?, ")
    )
    opened = irtool.parse(text.replace("-> (Tensor[(?, 64), float32], Tensor[(?, 3), float32]) ", ""))
    artifact = irtool.build(opened, shapes={x.name: ("n<=9", 96)}, math="strict", cflags="-O1")
    assert artifact.arena_bytes < 4 * 9 * 64 * 3
    kernels = [k for k in artifact.report["kernels"] if "dense_blocks" in k["name"]]
    assert [k["strategy"] for k in kernels] == ["register_tile"]
    for rows in (1, 4, 9):
        data = RNG.standard_normal((rows, 96)).astype("float32")
        for actual, expected in zip(artifact.run([data]), irtool.evaluate(opened, [data]), strict=True):
            np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("rows, k", [(0, 0), (1, 1), (2, 13), (3, 16), (5, 19)])
def test_quantized_blocks_of_a_length(rows: int, k: int) -> None:
    """The last block is as long as the run decides; without elements there are no scales."""
    text = """def @main(%x: Tensor[(?, 7), float32], %y: Tensor[(3, ?), float32]) {
      let %p = qnn.quantize_blocks(%x, block_size=4);
      let %q = qnn.quantize_blocks(%y, block_size=4);
      (%p.0, %p.1, %q.0, %q.1)
    }"""
    module = irtool.parse(text)
    artifact = irtool.build(module, shapes={"x": ("0<=?<=5", 7), "y": (3, "0<=?<=19")}, math="strict", cflags="-O1")
    inputs = [RNG.standard_normal(s).astype("float32") for s in ((rows, 7), (3, k))]
    for actual, expected in zip(artifact.run(inputs), irtool.evaluate(module, inputs), strict=True):
        assert actual.shape == np.shape(expected)
        np.testing.assert_array_equal(actual, expected)


def test_scales_of_a_length_have_an_element_for_each_block() -> None:
    n = symbolic("n", 1, 16)
    data = TensorType((3, n), "float32")
    module = irtool.infer_types(
        Module({"main": Function((x := Var("x", data),), call("qnn.quantize_blocks", x, block_size=4))})
    )
    assert module["main"].ret_type.fields[1].shape == (3, (n + 3) // 4)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_block_with_a_number_that_is_not_finite_has_such_a_scale(value: float) -> None:
    x = Var("x", TensorType((2, 64), "float32"))
    module = Module({"main": Function((x,), call("qnn.quantize_blocks", x, block_size=32))})
    data = RNG.standard_normal((2, 64)).astype("float32")
    data[0, 5] = data[1, 63] = value
    expected = irtool.evaluate(module, [data])
    for math in ("fast", "strict"):
        for actual, other in zip(irtool.build(module, math=math).run([data]), expected, strict=True):
            np.testing.assert_array_equal(actual, other)
    np.testing.assert_array_equal(np.isfinite(expected[1]), [[False, True], [True, False]])
