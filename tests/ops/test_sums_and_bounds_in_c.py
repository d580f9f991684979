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
    made = []
    for n, (text, inputs) in enumerate(texts):
        module = irtool.infer_types(irtool.parse(f'#[version = "0.0.5"]\ndef @main{text}', "case.relay"))
        want = irtool.evaluate(module, inputs)
        made.append(Program(f"p{n}", module, inputs, want).built(folder))
    return made


def differences(texts: list[tuple[str, list[Any]]], folder: Path) -> list[str]:
    found = run_together(programs(texts, folder), folder, sanitize=False)
    return [f"{text}: {wrong}" for (text, _), wrong in zip(texts, found, strict=True) if wrong]


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
