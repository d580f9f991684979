"""Tiles in C: what several multiply-adds read is read once."""

from __future__ import annotations

import re

import pytest

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


@pytest.mark.parametrize(
    ("number", "conversion"), [(1.0, "irt_vh2f"), (2.0**100, "irt_vb2f")], ids=["float16", "bfloat16"]
)
def test_each_vector_of_16_bits_is_widened_once(number: float, conversion: str) -> None:
    """gcc widens float16 again for each product."""
    import numpy as np

    module = irtool.parse(DENSE.replace("(64, 64)", "(2048, 64)"))
    weights = {"w": np.full((2048, 64), number, "float32")}
    program = run_stages(prepare(module, weights), ["main"], VectorTarget(64, 32))
    text = C(mcpu="none").translate(program, "net").source
    inner = text[text.index("for (int32_t k") :]
    lines = [line.strip() for line in inner[: inner.index("\n    }")].splitlines()[1:]]
    steps = [m for m in map(STEP.match, lines) if m is not None]
    assert len(steps) > 4 and not any(conversion in m[2] for m in steps)
    assert 0 < sum(conversion in line for line in lines) < len(steps) / 2


@pytest.mark.parametrize(("rows", "lanes", "is_hoisted"), [(4, 16, True), (6, 16, False), (4, 8, False)])
def test_vectors_that_few_rows_share_stay_in_registers(rows: int, lanes: int, is_hoisted: bool) -> None:
    """gcc would read them again for each product; it does not where more rows share them."""
    import numpy as np

    weights = {"w": np.ones((64, 64), "float32")}
    module = irtool.parse(DENSE.replace("(24, 64)", f"({rows}, 64)"))
    program = run_stages(prepare(module, weights), ["main"], VectorTarget(4 * lanes, 2 * lanes))
    text = C(mcpu="none").translate(program, "net").source
    vectors = re.findall(r"irt_hold\((v_\d+)\);", text)
    read = re.findall(rf"  irt_f32x{lanes} (v_\d+) = \*", text)
    assert vectors == read
    assert bool(vectors) is is_hoisted


def test_reads_that_differ_in_anything_are_two() -> None:
    """Even and odd elements from one place on were taken for the same."""
    from dataclasses import fields, replace

    from irtool.selection.vectors.channels import Channel
    from irtool.selection.vectors.ir import LoadVector
    from irtool.selection.vectors.rows import key_of
    from irtool.selection.vectors.types import VectorType
    from irtool.tir.expr import const
    from irtool.tir.stmt import Buffer

    read = LoadVector(VectorType("float32", 8), Buffer("x", (64,)), const(8), 2, 8, channel=Channel(2, 0))
    others = {
        "type": VectorType("float32", 4),
        "buffer": Buffer("x", (64,)),
        "base": const(7),
        "stride": 3,
        "count": 7,
        "places": (0, 3),
        "channel": Channel(2, 1),
        "words": True,
    }
    assert set(others) == {f.name for f in fields(LoadVector) if f.init} - {"once"}
    assert len({key_of(read), key_of(replace(read))}) == 1
    for name, value in others.items():
        assert len({key_of(read), key_of(replace(read, **{name: value}))}) == 2, name
    assert key_of(replace(read, once=True)) is None
