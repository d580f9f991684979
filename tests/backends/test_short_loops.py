"""Loops around the updates of a tile: those over a window's columns stay loops, those over blocks are written out; functions stay apart."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.schedule.graph.short_loops import mark_nest
from irtool.tir.expr import Var, add, const, mul
from irtool.tir.show import show_stmt
from irtool.tir.simplify import Simplifier
from irtool.tir.stmt import VECTORIZED, Buffer, For, Scope, Seq, Stmt, Store

WINDOW = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 32, 14, 14), float32], %w: Tensor[(32, 32, {k}, {k}), float32]) {{
  nn.conv2d(%x, %w, padding=[{p}, {p}, {p}, {p}], channels=32, kernel_size=[{k}, {k}])
}}
"""
BLOCKS = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 64, 28, 28), float32], %w: Tensor[(64, 64, 3, 3), float32], %v: Tensor[(256, 64, 1, 1), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=64, kernel_size=[3, 3]));
  nn.conv2d(%0, %v, channels=256, kernel_size=[1, 1])
}
"""


def text_of(source: str, mcpu: str, place: Path) -> str:
    module = irtool.infer_types(irtool.parse(source))
    weights = {p.name: np.ones(p.type_annotation.shape, "float32") for p in module["main"].params if p.name != "x"}
    irtool.build(module, weights, mcpu=mcpu, emit="c", name="net", out_dir=place, target="c{winograd=off}")
    return (place / "net.c").read_text(encoding="utf-8")


@pytest.mark.parametrize("mcpu", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("window", [3, 5])
def test_columns_of_windows_stay_a_loop(window: int, mcpu: str, tmp_path: Path) -> None:
    text = text_of(WINDOW.format(k=window, p=window // 2), mcpu, tmp_path)
    lines = [line.strip() for line in text.splitlines()]
    before = [lines[n - 1] for n, line in enumerate(lines) if line.startswith("for (") and f"k1 < {window};" in line]
    assert before
    assert set(before) == {"irt_keep_loop"}
    assert "irt_keep_reads" in text


def test_steps_of_a_block_are_written_out(tmp_path: Path) -> None:
    assert "irt_write_out(8)" in text_of(BLOCKS, "x86-64-v3", tmp_path)


TWICE = """#[version = "0.0.5"]
def @main(%x: Tensor[(32, 256), float32], %w: Tensor[(256, 256), float32], %v: Tensor[(512, 256), float32]) {
  %0 = erf(nn.dense(%x, %w, units=256));
  erf(nn.dense(%0, %v, units=512))
}
"""


def test_functions_that_sum_in_registers_stay_apart(tmp_path: Path) -> None:
    text = text_of(TWICE, "x86-64-v3", tmp_path)
    kernels = [
        n for n, line in enumerate(text.splitlines()) if line.startswith("static void tvmgen_") and line.endswith("{")
    ]
    assert len(kernels) == 2
    assert {text.splitlines()[n - 1] for n in kernels} <= {"irt_keep_apart", "irt_keep_reads"}
    process = subprocess.run(
        ["cc", "-O3", "-S", "-o", "-", "net.c"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert len(re.findall(r"^tvmgen_\w+:", process.stdout, re.M)) == 2


COLUMN = """#[version = "0.0.5"]
def @main(%x: Tensor[(128, 26), int64]) {
  take(%x, 25, axis=1)
}
"""


def test_loops_over_elements_far_apart_stay_loops(tmp_path: Path) -> None:
    """Written out, they take gcc seconds to compile."""
    module = irtool.infer_types(irtool.parse(COLUMN))
    irtool.build(module, {}, mcpu="x86-64-v4", emit="c", name="net", out_dir=tmp_path)
    lines = [line.strip() for line in (tmp_path / "net.c").read_text(encoding="utf-8").splitlines()]
    (gather,) = (n for n, line in enumerate(lines) if line.startswith("*(irt_i64x8_u *)"))
    assert lines[gather - 2] == "irt_keep_loop" and lines[gather - 1].startswith("for (")


X, W = Buffer("x", (64,)), Buffer("w", (4096,))
ACC = Buffer("acc", (2, 8), "float32", Scope.REGISTER)


def updates(k: Var, apart: int) -> Stmt:
    """Two results, of which each reads every step's element, `apart` elements from the other's."""

    def update(row: int) -> For:
        lane = Var("l")
        value = add(ACC[row, lane], mul(X[k + row * apart], W[k * 8 + lane]))
        return For(lane, 8, Store(ACC, (const(row), lane), value), VECTORIZED)

    return Seq([update(0), update(1)])


@pytest.mark.parametrize(
    ("steps", "apart", "hint"), [(8, 32, " written out"), (3, 1, " kept"), (12, 32, ""), (16, 8, " kept"), (17, 8, "")]
)
def test_hints_are_marks_on_the_nest(steps: int, apart: int, hint: str) -> None:
    k = Var("k")
    loop = mark_nest(For(k, steps, updates(k, apart)), Simplifier({k: (0, steps - 1)}))
    assert show_stmt(loop).splitlines()[0] == f"for k in {steps}{hint}:"
