"""Tiles have no more rows than the nearest cache keeps a line of each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import irtool


@pytest.mark.parametrize("steps, most", [(1024, 8), (2048, 8), (512, 16), (1040, 31), (1000, 31)])
def test_rows_a_power_of_two_apart_share_sets(steps: int, most: int, tmp_path: Path) -> None:
    """A cache of 32 KB has eight lines in a set; rows of 4096 bytes all begin in one."""
    text = f"""#[version = "0.0.5"]
def @main(%a: Tensor[(1024, {steps}), float32], %b: Tensor[({steps}, 16), float32]) {{
  nn.matmul(%a, %b, units=16)
}}
"""
    module = irtool.infer_types(irtool.parse(text))
    irtool.build(module, {}, mcpu="x86-64-v4", emit="c", name="net", out_dir=tmp_path)
    code = (tmp_path / "net.c").read_text(encoding="utf-8")
    rows = [int(n) for n in re.findall(r"irt_f32x16 acc_(\d+)_0;", code)]
    assert 0 < max(rows) < most
    assert max(rows) >= min(most, 16) - 2
