"""Sums in other dtypes than their operands', and bounds that are NaN: C gives what the interpreter gives."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from tests.fuzz.harness import Program, run_together

pytestmark = pytest.mark.promise("compiled")

EDGES = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -3.0)


def programs(texts: list[tuple[str, list[Any]]], folder: Path) -> list[Program]:
    compiled = []
    for n, (text, inputs) in enumerate(texts):
        module = irtool.infer_types(irtool.parse(f'#[version = "0.0.5"]\ndef @main{text}', "case.relay"))
        want = irtool.evaluate(module, inputs)
        compiled.append(Program(f"p{n}", module, inputs, want).built(folder))
    return compiled


def differences(texts: list[tuple[str, list[Any]]], folder: Path) -> list[str]:
    problems = run_together(programs(texts, folder), folder, sanitize=False)
    return [f"{text}: {wrong}" for (text, _), wrong in zip(texts, problems, strict=True) if wrong]


def test_bit_serial_products(tmp_path: Path) -> None:
    """All bits of a signed number are not negative, a sum in bool is a question about the number, one in floats is exact."""
    rng, texts = np.random.default_rng(1), []
    for dtype, out in product(("int8", "int32"), ("bool", "float32", "int64")):
        ends = np.iinfo(dtype)
        for bits, unipolar in ((2, True), (2, False), (32, True)):
            x, w = (rng.integers(ends.min, ends.max, s, dtype, endpoint=True) for s in ((3, 16), (5, 16)))
            w[2] = w[2, 0]
            x[1] = 0
            attributes = f'data_bits={bits}, weight_bits={bits}, out_dtype="{out}", unipolar={unipolar}'
            types = f"(%x: Tensor[(3, 16), {dtype}], %w: Tensor[(5, 16), {dtype}])"
            texts.append((f"{types} {{ nn.bitserial_dense(%x, %w, units=5, {attributes}) }}", [x, w]))
        x, w = (rng.integers(ends.min, ends.max, s, dtype, endpoint=True) for s in ((1, 3, 5, 5), (4, 3, 3, 3)))
        attributes = f'channels=4, kernel_size=[3, 3], activation_bits=3, weight_bits=32, out_dtype="{out}"'
        types = f"(%x: Tensor[(1, 3, 5, 5), {dtype}], %w: Tensor[(4, 3, 3, 3), {dtype}])"
        texts.append((f"{types} {{ nn.bitserial_conv2d(%x, %w, {attributes}) }}", [x, w]))
    assert differences(texts, tmp_path) == []


def test_simulated_quantization_with_edges(tmp_path: Path) -> None:
    """A quotient that is NaN is clipped as `minimum` and `maximum` say, and so is one by bounds that are NaN."""
    texts = []
    types = "(%x: Tensor[(7), float32], %s: float32, %l: float32, %h: float32)"
    for scale, (low, high) in product(EDGES, ((-3.0, 3.0), (np.nan, 3.0), (-3.0, np.nan), (-np.inf, np.inf))):
        values = [np.array(v, "float32") for v in (EDGES, scale, low, high)]
        texts.append((f"{types} {{ relay.op.annotation.simulated_quantize(%x, %s, %l, %h, kind=2) }}", values))
    with np.errstate(all="ignore"):
        assert differences(texts, tmp_path) == []


def test_sparse_elements_given_twice(tmp_path: Path) -> None:
    """They are summed in the result's dtype, not in their own."""
    types = "(%x: Tensor[(2, 3), {0}], %d: Tensor[(3), {1}], %i: Tensor[(3), int32], %p: Tensor[(2), int32])"
    rows = [np.array([1, 1, 2], "int32"), np.array([0, 3], "int32")]
    texts = []
    for dense, data in (("float32", "int8"), ("int32", "int8"), ("int8", "int32"), ("float16", "uint8")):
        x, d = np.array([[1, 2, 3], [4, 5, 6]], dense), np.array([127, 120, 3], data)
        texts.append((f"{types.format(dense, data)} {{ nn.sparse_dense(%x, %d, %i, %p) }}", [x, d, *rows]))
    assert differences(texts, tmp_path) == []


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_order(tmp_path: Path, dtype: str) -> None:
    """NaN is the largest, also where numpy has the dtype from a package that leaves NaN anywhere; all NaNs are one element."""
    from irtool.ir.dtypes import numpy_dtype

    rng, texts = np.random.default_rng(3), []
    for n in range(4):
        x = rng.choice((np.nan, np.inf, -np.inf, 0.0, 1.0, 2.5, -1.0), 9).astype(numpy_dtype(dtype))
        rows = np.sort(x.astype("float32")).astype(x.dtype)
        for body in (
            f"sort(%x, is_ascend={n % 2})",
            f'argsort(%x, is_ascend={n % 2}, dtype="int32")',
            f'topk(%x, k=4, ret_type="both", is_ascend={n % 2 == 0}, dtype="int32")',
            f"unique(%x, sorted={n % 2 == 0}, return_counts=True)",
        ):
            texts.append((f"(%x: Tensor[(9), {dtype}]) {{ {body} }}", [x]))
        pair = f"(%s: Tensor[(9), {dtype}], %x: Tensor[(9), {dtype}])"
        texts.append((f"{pair} {{ searchsorted(%s, %x, right={n % 2 == 0}) }}", [rows, x]))
    assert differences(texts, tmp_path) == []
