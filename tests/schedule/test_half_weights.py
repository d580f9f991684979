"""Matrices in float32 whose elements are all numbers of 16 bits take 16 bits in memory, with the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool
from irtool.parser.gguf import read_gguf_data
from irtool.schedule.pipeline import without
from tests.frontends.gguf.files import gguf

ROWS, COLUMNS = 256, 512
RNG = np.random.default_rng(0)
EXACT = RNG.standard_normal((COLUMNS, ROWS)).astype("float32")
HALVES = EXACT.astype("float16").astype("float32")
SPECIAL = HALVES.copy()
SPECIAL[0, :6] = [0.0, -0.0, np.inf, -np.inf, 2.0**-24, 65504.0]
BFLOATS = (EXACT.view("uint32") & 0xFFFF0000).view("float32") * np.float32(2.0**100)
TABLE = f"""#[version = "0.0.5"]
def @main(%ids: Tensor[(3), int32], %w: Tensor[({COLUMNS}, {ROWS}), float32]) {{
  nn.dense(take(%w, %ids, axis=0), %w, units=None)
}}"""


def product(rows: int | str, weights: np.ndarray = HALVES) -> irtool.Module:
    """A product of rows with a matrix."""
    names = ', input_dim_names=[["n"]]' if rows == "?" else ""
    shape = f"({weights.shape[0]}, {weights.shape[1]})"
    text = f"def @main(%x: Tensor[({rows}, {weights.shape[1]}), float32], %w: Tensor[{shape}, float32]{names}) {{ nn.dense(%x, %w, units=None) }}"
    return irtool.infer_types(irtool.parse(f'#[version = "0.0.5"]\n{text}'))


def bytes_of(weights: np.ndarray, rows: int | str = 1, **options: Any) -> int:
    """The bytes of a build's weights."""
    return int(irtool.build(product(rows, weights), {"w": weights}, emit="tir", **options).report["weight_bytes"])


@pytest.mark.parametrize("weights", [HALVES, SPECIAL, BFLOATS], ids=["float16", "special numbers", "bfloat16"])
def test_matrices_that_16_bits_hold_take_half_of_the_memory(weights: np.ndarray) -> None:
    assert bytes_of(weights) == weights.nbytes // 2


def test_other_matrices_stay() -> None:
    one_other, payload = HALVES.copy(), HALVES.copy()
    one_other[-1, -1] = 1 / 3
    payload.view("uint32")[-1, -1] = 0x7FC00001  # not a number, with bits that 16 have no room for
    for weights in (EXACT, one_other, payload, HALVES[:256]):
        assert bytes_of(weights) == weights.nbytes
    with without("HalfWeights"):
        assert bytes_of(HALVES) == HALVES.nbytes


@pytest.mark.parametrize("target", ["c", "llvm"])
@pytest.mark.parametrize("rows", [1, 5, 40])
@pytest.mark.parametrize("weights", [SPECIAL, BFLOATS], ids=["float16", "bfloat16"])
def test_results(weights: np.ndarray, rows: int, target: str) -> None:
    """Those of float64; the row with infinities has infinities."""
    if target == "llvm":
        pytest.importorskip("llvmlite")
    x = RNG.standard_normal((rows, ROWS)).astype("float32")
    actual = np.asarray(irtool.build(product(rows, weights), {"w": weights}, target=target).run({"x": x}))
    with np.errstate(invalid="ignore"):
        expected = x.astype("float64") @ weights.T.astype("float64")
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(finite, np.isfinite(actual))
    assert np.abs(actual[finite] - expected[finite]).max() <= 1e-5 * np.abs(expected[finite]).max()


def test_one_table_of_a_gather_and_a_product_is_stored_once() -> None:
    module = irtool.infer_types(irtool.parse(TABLE))
    artifact = irtool.build(module, {"w": HALVES})
    assert artifact.report["weight_bytes"] == HALVES.nbytes // 2
    ids = np.array([7, 0, 511], "int32")
    expected = HALVES[ids].astype("float64") @ HALVES.T.astype("float64")
    assert np.abs(np.asarray(artifact.run({"ids": ids})) - expected).max() <= 1e-5 * np.abs(expected).max()


@pytest.mark.parametrize("name", ["F16", "BF16"])
def test_tensors_of_files(name: str) -> None:
    """Those in 16 bits, cast to float32, are constants of 16 bits."""
    raw = EXACT.astype("float16") if name == "F16" else (EXACT.view("uint32") >> 16).astype("uint16")
    data = read_gguf_data(gguf({}, {"w": (name, EXACT.shape, raw.tobytes())}), "w.gguf").tensors["w"]
    dtype = "float16" if name == "F16" else "bfloat16"
    module = irtool.parse(f"""#[version = "0.0.5"]
def @main(%x: Tensor[(1, {ROWS}), float32], %w: Tensor[({COLUMNS}, {ROWS}), {dtype}]) {{
  nn.dense(%x, cast(%w, dtype="float32"), units=None)
}}""")
    assert irtool.build(module, {"w": data}, emit="tir").report["weight_bytes"] == raw.nbytes
