"""Loops of which threads take the first half of the steps first: which ones, and that every step is taken once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.backends.c import program
from irtool.schedule import pipeline
from irtool.schedule.halves import halved_loops
from irtool.schedule.threads import all_shared_loops
from irtool.tir.expr import Expr, Load, Var, const
from irtool.tir.stmt import PARALLEL, SERIAL, Buffer, For, Let, Scope, Stmt, Store
from irtool.tir.vector_target import VectorTarget
from tests.threads import thread_setter

TARGET = VectorTarget()
BLOCKS = ((0, 1, 1), (1, 16, 4), (2, 1, 14), (1, 1, 16))
"""Images in blocks of 16 of 64 channels, of 14 rows."""


def product_of(weights: int, rows: int = 14, channels: int = 4, steps: int = 512) -> tuple[For, Buffer]:
    """`out[o, y] = data[y] * w[o]`, with so many bytes of weights, and loops over o and y that are one; the weights."""
    o, y, k, name = Var("o"), Var("y"), Var("k"), Var("at")
    data = Buffer("data", [rows * steps], scope=Scope.PARAM)
    w = Buffer("w", [weights // 4], scope=Scope.PARAM)
    out = Buffer("out", [channels, rows, steps], scope=Scope.PARAM)
    value = Load(data, (name * steps + k,)) * Load(w, (o * (weights // 4 // channels),))
    body: Stmt = Let(name, y, For(k, steps, Store(out, (o, y, k), value)))
    return For(o, channels, For(y, rows, body, PARALLEL), PARALLEL), w


def chosen(nest: For, *constants: Buffer) -> str | None:
    found = halved_loops(nest, set(constants), TARGET)
    assert set(found) <= {nest.var}
    return found[nest.var].name if found else None


@pytest.mark.promise("threads in teams")
def test_rows_where_weights_are_few() -> None:
    """28 KiB of data, half of which another thread wrote, against weights that both read."""
    few, w = product_of(65536)
    assert chosen(few, w) == "y"
    assert chosen(few) is None, "w is made by another kernel"
    many, w = product_of(262144)
    assert chosen(many, w) is None
    every, w = product_of(4 << 20, rows=4096, steps=64)
    assert chosen(every, w) is None, "more than is read twice, however much data there is"


@pytest.mark.promise("threads in teams")
def test_loops_that_stay() -> None:
    """A loop alone; rows that are outermost; short steps with a half that is one longer than the other."""
    nest, w = product_of(65536)
    assert isinstance(nest.body, For)
    alone = For(nest.var, nest.extent, For(nest.body.var, nest.body.extent, nest.body.body, SERIAL), PARALLEL)
    assert chosen(alone, w) is None
    turned = For(nest.body.var, nest.body.extent, For(nest.var, nest.extent, nest.body.body, PARALLEL), PARALLEL)
    assert chosen(turned, w) is None
    for rows, steps, wanted in ((15, 512, "y"), (15, 64, None), (14, 64, "y")):
        nest, w = product_of(1024, rows, steps=steps)
        assert chosen(nest, w) == wanted


@pytest.mark.promise("threads in teams")
def test_images_in_blocks_of_channels() -> None:
    """What reads and writes every element once shares rows, as the kernels around it do."""

    def copied(layout: tuple[tuple[int, int, int], ...] | None) -> For:
        c, y, v = Var("c"), Var("y"), Var("v")
        x = Buffer("x", [1, 64, 14], scope=Scope.PARAM, layout=layout)
        out = Buffer("out", [1, 64, 14], scope=Scope.PARAM, layout=layout)
        place: tuple[Expr, ...] = (const(0), c * 16 + v, y)
        body = For(v, 16, Store(out, place, Load(x, place)))
        return For(c, 4, For(y, 14, body, PARALLEL), PARALLEL)

    assert chosen(copied(BLOCKS)) == "y"
    assert chosen(copied(None)) is None


NETWORK = """#[version = "0.0.5"]
def @main(%x: Tensor[(3, 64, 15, 14), float32], %w: Tensor[(48, 64, 1, 1), float32], %u: Tensor[(4, 11, 990), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %w, padding=[0, 0, 0, 0]));
  %1 = nn.avg_pool2d(%0, pool_size=[3, 2], strides=[3, 2]);
  (%0, %1, transpose(%0, axes=[0, 2, 3, 1]), sum(%0, axis=[1]), add(exp(%u), %u))
}
"""


@pytest.mark.promise("threads in teams")
@pytest.mark.parametrize("at, vector", [(1, True), (1, False), (2, True), (2, False), (3, False)])
def test_every_step_is_taken_once(at: int, vector: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever loop is halved, of an even or odd number of steps, for any number of threads."""
    taken: list[int] = []

    def halved(root: Stmt, constants: object, target: VectorTarget) -> dict[Var, Var]:
        chains = [c for c in all_shared_loops(root) if len(c) > at]
        taken.extend(int(c[at].extent.value) for c in chains)
        return {c[0].var: c[at].var for c in chains}

    monkeypatch.setattr(program, "REGION_WORK", 0)
    module = irtool.infer_types(irtool.parse(NETWORK))
    shapes = [tuple(map(int, p.checked_type.shape)) for p in module["main"].params]
    generator = np.random.default_rng(0)
    values = [generator.random(s, "float32") - 0.5 for s in shapes]
    serial = irtool.build(module, vector=vector).run(values)
    monkeypatch.setattr(pipeline, "halved_loops", halved)
    deep = "c{most_parts=100000}"
    threaded = irtool.build(module, target=deep, vector=vector, openmp=True, out_dir=tmp_path)
    text = (tmp_path / "model.c").read_text()
    assert taken and " late = " in text
    with thread_setter(tmp_path / "model.so") as set_threads:
        for threads in (1, 2, 3, 5):
            set_threads(threads)
            for a, b in zip(serial, threaded.run(values), strict=True):
                assert a.tobytes() == b.tobytes()
