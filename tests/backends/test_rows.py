"""Tiles in C: what several multiply-adds read is read once."""

from __future__ import annotations

import re

import irtool
from irtool.backends.c.backend import C
from irtool.driver.prepare import prepare
from irtool.driver.stages import run_stages
from irtool.schedule import VectorTarget

DENSE = """#[version = "0.0.5"]
def @main(%x: Tensor[(24, 64), float32], %w: Tensor[(64, 64), float32]) { nn.dense(%x, %w, units=None) }
"""
STEP = re.compile(r"^(acc_\d+_\d+) = \1 \+ \(?(.*?)\)?;$")


def test_each_operand_of_a_tile_is_read_once() -> None:
    import numpy as np

    weights = {"w": np.ones((64, 64), "float32")}
    program = run_stages(prepare(irtool.parse(DENSE), weights), ["main"], VectorTarget(64, 32))
    text = C(mcpu="none").translate(program, "net").source
    inner = text[text.index("for (int32_t k") :]
    lines = [line.strip() for line in inner[: inner.index("\n    }")].splitlines()[1:]]
    steps = [m for m in map(STEP.match, lines) if m is not None]
    read = [line for line in lines if line.startswith("const irt_f32x16 v")]
    rows = {m[1].split("_")[1] for m in steps}
    columns = {m[1].split("_")[2] for m in steps}
    assert len(rows) > 2 and len(columns) > 1
    assert len(steps) == len(rows) * len(columns)
    assert len(read) == len(rows) + len(columns)  # each element of a column, each vector of a row
    assert len({line.split(" = ")[1] for line in read}) == len(read)
    assert not any("p0" in m[2] or "p1" in m[2] for m in steps)
