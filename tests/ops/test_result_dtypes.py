"""Sums of products in another dtype than the operands': the interpreter and C cast operands, sums and matrices at the same step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.ir import TensorType
from irtool.ops.dtypes import numpy_dtype
from tests.fuzz.harness import Program, run_together

pytestmark = pytest.mark.promise("NaN and overflow")

WINOGRAD = "nn.contrib_conv2d_winograd_without_weight_transform(%x, %w, tile_size=TILE, padding=[1, 1], channels=2, kernel_size=[3, 3]"
VOLUME = "nn.contrib_conv3d_winograd_without_weight_transform(%x, %w, tile_size=2, padding=[1, 1, 1], channels=2, kernel_size=[3, 3, 3]"
SHAPES = {
    WINOGRAD.replace("TILE", "4"): ((1, 3, 7, 6), (6, 6, 2, 3)),
    WINOGRAD.replace("TILE", "2"): ((1, 3, 7, 6), (4, 4, 2, 3)),
    VOLUME: ((1, 3, 3, 3, 4), (4, 4, 4, 2, 3)),
    "nn.conv2d(%x, %w, channels=2, kernel_size=[2, 2]": ((1, 3, 4, 4), (2, 3, 2, 2)),
    'nn.conv2d_transpose(%x, %w, channels=2, kernel_size=[2, 2], kernel_layout="IOHW"': ((1, 3, 4, 4), (3, 2, 2, 2)),
    "nn.dense(%x, %w, units=4": ((3, 5), (4, 5)),
    "nn.batch_matmul(%x, %w, transpose_b=True": ((2, 3, 5), (2, 4, 5)),
}
OF_WINOGRAD = [("float32", "int32"), ("int8", "float32"), ("float32", "uint8"), ("int8", "int32")]
OF_OTHERS = [("float32", "uint8"), ("int32", "bool")]


def _pairs(call: str) -> list[tuple[str, str]]:
    if "winograd" not in call:
        return OF_OTHERS
    return OF_WINOGRAD if "tile_size=4" in call else OF_WINOGRAD[:2]


def program(n: int, call: str, dtype: str, out_dtype: str) -> Program:
    shapes = SHAPES[call]
    params = ", ".join(f"%{v}: {TensorType(s, dtype)!r}" for v, s in zip("xw", shapes, strict=True))
    text = f'def @main({params}) {{ {call}, out_dtype="{out_dtype}") }}'
    rng = np.random.default_rng(n)
    inputs = [(rng.integers(-9, 10, s) / (2 if dtype == "float32" else 1)).astype(numpy_dtype(dtype)) for s in shapes]
    module = irtool.infer_types(irtool.parse(text))
    return Program(f"m{n}", module, inputs, irtool.evaluate(module, inputs), {"opt_level": 1})


def test_the_interpreter_and_c_cast_at_the_same_step(tmp_path: Path) -> None:
    cases = [(c, *d) for c in SHAPES for d in _pairs(c)]
    programs = [program(n, *case).built(tmp_path) for n, case in enumerate(cases)]
    problems = run_together(programs, tmp_path, sanitize=False)
    assert [(c, s) for c, s in zip(cases, problems, strict=True) if s] == []


def test_products_that_cancel_are_true() -> None:
    text = 'def @main(%x: Tensor[(1, 2), int32], %w: Tensor[(1, 2), int32]) { nn.dense(%x, %w, units=1, out_dtype="bool") }'
    result = irtool.evaluate(irtool.parse(text), [np.array([[1, 1]], "int32"), np.array([[3, -3]], "int32")])
    assert result.all()
