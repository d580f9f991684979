"""Lengths of tiles that a step of a loop decides: one nest for full tiles and for the last one."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.schedule.core.nest_lengths import NestLengths
from irtool.symbolic_int import Symbol, extent_of
from irtool.tir.expr import Const, Var, const
from irtool.tir.stmt import PARALLEL, Allocate, Buffer, For, If, Let, Scope, Store, pre_order

HEAD = '#[version = "0.0.5"]\n'
NETWORKS = {
    "convolution": (
        "def @main(%x: Tensor[(1, 8, ?, 56), float32], %u: Tensor[(64, 8, 1, 1), float32], %w: Tensor[(64, 64, 3, 3), float32], "
        "%v: Tensor[(8, 64, 1, 1), float32]) { nn.conv2d(nn.relu(nn.conv2d(nn.relu(nn.conv2d(%x, %u)), %w, padding=[1, 1, 1, 1])), %v) }",
        {"x": (1, 8, "n", 56)},
        {"u": (64, 8, 1, 1), "w": (64, 64, 3, 3), "v": (8, 64, 1, 1)},
        "winograd",
    ),
    "attention": (
        "def @main(%q: Tensor[(4, ?, 64), float32], %k: Tensor[(4, 96, 64), float32], %v: Tensor[(4, 96, 64), float32]) "
        "{ nn.batch_matmul(nn.softmax(nn.batch_matmul(%q, %k, transpose_b=True)), %v, transpose_b=False) }",
        {"q": (4, "n", 64)},
        {},
        "attention",
    ),
}
"""A network, the shape of its input with the open extent, those of its weights, and the strategy of one of its kernels."""


def test_a_length_becomes_a_variable() -> None:
    lengths = NestLengths()
    n, tile = extent_of(Symbol("n", 1, 100)), Var("tile")
    rows, bind = lengths.add("rows", 32, const(n) - tile * 32)
    i, out = Var("i"), Buffer("out", (100,), "float32")
    nest = bind(For(i, rows // 8, Store(out, (i,), const(1.0, "float32"))))
    settled = lengths.settled(nest)
    assert isinstance(settled, Let) and str(settled.var) == "rows"
    loop = settled.body
    assert isinstance(loop, For) and not isinstance(loop.extent, Const), "a formula of the variable"
    assert lengths.settled(For(i, n, Store(out, (i,), const(1.0, "float32")))).extent.value == n, (
        "lengths of the run stay"
    )


def test_rows_that_are_left_are_a_remainder() -> None:
    """A remainder of a length is known not to be negative, unlike a difference: it is divided as C divides."""
    lengths = NestLengths()
    rows, _ = lengths.add("rows", 32, Var("left"))
    i, out = Var("i"), Buffer("out", (100,), "float32")
    loop = lengths.settled(For(i, 5 * (rows - rows // 8 * 8) + 1, Store(out, (i,), const(1.0, "float32"))))
    assert str(loop.extent) == "((floormod(rows, 8) * 5) + 1)"


def test_threads_share_a_loop_of_all_steps_of_a_full_tile() -> None:
    lengths = NestLengths()
    rows, bind = lengths.add("rows", 32, Var("left"))
    i, copy = Var("i"), Buffer("copy", (rows, 4), "float32", Scope.LOCAL)
    nest = bind(Allocate(copy, For(i, rows, Store(copy, (i, const(0)), const(1.0, "float32")), PARALLEL)))
    parts = list(pre_order(lengths.settled(nest)))
    (loop,) = (s for s in parts if isinstance(s, For))
    (room,) = (s.buffer for s in parts if isinstance(s, Allocate))
    (store,) = (s for s in parts if isinstance(s, Store))
    assert loop.steps == 32 and isinstance(loop.body, If)
    assert room.shape == (32, 4) and store.buffer is room, "room for a full tile"


@pytest.mark.parametrize("network", NETWORKS)
def test_open_extents_have_one_copy_of_the_stages(network: str, tmp_path: Path) -> None:
    """Products have tiles of a few heights; transforms and softmax are there once, as for a known extent."""
    body, inputs, weights, strategy = NETWORKS[network]
    params = {n: np.linspace(-1, 1, math.prod(shape), dtype="float32").reshape(shape) for n, shape in weights.items()}
    lines = []
    for extent in (64, "4<=n<=64"):
        shapes = {name: tuple(extent if d == "n" else d for d in shape) for name, shape in inputs.items()}
        place = tmp_path / f"{len(lines)}"
        artifact = irtool.build(irtool.parse(HEAD + body), params, shapes=shapes, mcpu="x86-64-v4", out_dir=place)
        assert strategy in [k["strategy"] for k in artifact.report["kernels"]]
        (text,) = place.glob("*.c")
        lines.append(text.read_text().count("\n"))
    assert lines[1] < 1.6 * lines[0], lines
