"""Sorting and selecting by the bytes of ranks: what sorting by comparison gives, whatever elements are."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.ops.radix import Ranks

FLOATS = ("float16", "float32", "float64")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
CASES = [("topk", 20), ("topk", 100), ("topk", 299), ("topk", 600), ("sort", 0), ("argsort", 0)]


def elements(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(7)
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        x = rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
        x[0, :50], x[0, 50:90] = limits.max, limits.min
        return x
    x = rng.standard_normal(shape).astype(dtype)
    x[0] = np.round(x[0])
    x[1, ::3], x[1, 1::7], x[1, 2::11] = np.nan, np.inf, -np.inf
    x[2, ::2], x[2, 1::2] = 0.0, -0.0
    x[3] = np.nan
    return x


def call(op: str, count: int, axis: int, ascending: bool) -> str:
    if op == "topk":
        return f'topk(%x, k={count}, axis={axis}, is_ascend={ascending}, ret_type="both", dtype="int32")'
    dtype = ', dtype="int32"' if op == "argsort" else ""
    return f"{op}(%x, axis={axis}, is_ascend={ascending}{dtype})"


@pytest.mark.parametrize("op, count", CASES)
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_rows_are_sorted_as_the_interpreter_does(dtype: str, op: str, count: int) -> None:
    axis, vector = (0, "none") if op == "topk" and count == 100 else (1, "auto")
    x = elements(dtype, (5, 1200))
    x = x if axis else np.ascontiguousarray(x.T)
    up, down = (call(op, count, axis, ascending) for ascending in (True, False))
    text = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[{x.shape}, {dtype}]) {{ ({up}, {down}) }}'
    if op == "topk":
        text = text.replace(f"({up}, {down})", f"let %up = {up}; let %down = {down}; (%up.0, %up.1, %down.0, %down.1)")
    module = irtool.parse(text)
    got = irtool.build(module, vector=vector, cflags="-O1").run([x])
    for a, b in zip(irtool.evaluate(module, [x]), got, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("count", [17, 40])
def test_blocks_of_a_long_row_with_many_equal_elements(count: int) -> None:
    x = np.zeros((2, 9000), "float32")
    x[0, 8990:], x[1] = 1, np.arange(9000) % 3
    text = f'topk(%x, k={count}, axis=1, ret_type="both", dtype="int32")'
    module = irtool.parse(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[{x.shape}, float32]) {{ {text} }}')
    for a, b in zip(irtool.evaluate(module, [x]), irtool.build(module).run([x]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_ranks_have_as_many_bytes_as_elements() -> None:
    assert {d: Ranks(d, True).digits for d in ("int8", "uint16", "float16", "float32", "uint32", "float64")} == {
        "int8": 1,
        "uint16": 2,
        "float16": 4,
        "float32": 4,
        "uint32": 4,
        "float64": 8,
    }
