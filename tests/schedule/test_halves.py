"""Loops of which threads take the first half of the steps first: those along which they wrote what they read; every step is taken once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.backends.c import program
from irtool.schedule.core.data_affinity import ALONE
from irtool.schedule.graph import share_loops
from irtool.schedule.graph.thread_split import Halves
from irtool.schedule.graph.threads import all_shared_loops, with_deeper
from irtool.tir.expr import Load, Var, const, maximum
from irtool.tir.stmt import (
    PARALLEL,
    SERIAL,
    Buffer,
    For,
    Let,
    Prefetch,
    Scope,
    Stmt,
    Store,
    pre_order,
    rewrite_stmt,
    seq,
)
from irtool.tir.vector_target import VectorTarget
from tests.threads import thread_setter

TARGET = VectorTarget()


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
    return loop_and_places(nest, constants, {})[0]


def loop_and_places(
    nest: For, constants: Sequence[Buffer], begin: Mapping[Buffer, Sequence[int]]
) -> tuple[str | None, dict[str, int]]:
    """The loop in halves, if it is not the outermost one, and where the second thread's part begins in what is written."""
    halves = Halves(set(constants), TARGET, begin)
    halves.take(nest)
    assert set(halves.loops) <= {nest.var}
    loop = halves.loops.get(nest.var)
    return loop.name if loop is not None else None, {b.name: n for b, n in halves.written.items()}


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
    """A loop alone; rows that are outermost."""
    nest, w = product_of(65536)
    assert isinstance(nest.body, For)
    alone = For(nest.var, nest.extent, nest.body.body, PARALLEL)
    assert chosen(alone, w) is None
    swapped = For(nest.body.var, nest.body.extent, For(nest.var, nest.extent, nest.body.body, PARALLEL), PARALLEL)
    assert chosen(swapped, w) is None


def copy_of_image(inside: str = PARALLEL, columns: int = 16) -> tuple[For, Buffer]:
    """`out[c, y] = x[c, y]` of 4 blocks of channels of 14 rows; x."""
    c, y, v = Var("c"), Var("y"), Var("v")
    x = Buffer("x", [4, 14, columns], scope=Scope.PARAM)
    out = Buffer("out", [4, 14, columns], scope=Scope.PARAM)
    body = For(v, columns, Store(out, (c, y, v), Load(x, (c, y, v))))
    return For(c, 4, For(y, 14, body, inside), PARALLEL), x


@pytest.mark.promise("threads in teams")
def test_threads_read_what_they_wrote() -> None:
    """What reads and writes every element once shares the loop that was shared before, and says so to what comes behind it."""
    nest, x = copy_of_image()
    rows, channels = 7 * 16 * 4, 2 * 14 * 16 * 4
    assert loop_and_places(nest, (), {}) == (None, {"out": channels})
    assert loop_and_places(nest, (), {x: [rows]}) == ("y", {"out": rows})
    assert loop_and_places(nest, (), {x: [channels]}) == (None, {"out": channels})
    assert loop_and_places(nest, (), {x: [rows, rows, channels]}) == ("y", {"out": rows}), "used in three places"
    assert loop_and_places(nest, (), {x: [rows + 32]}) == ("y", {"out": rows}), "half a tile more than half of the rows"
    assert loop_and_places(nest, (), {x: [ALONE]}) == (None, {"out": channels}), "one thread made all of it"


@pytest.mark.promise("threads in teams")
def test_rows_inside_are_shared_where_steps_are_long() -> None:
    """A serial loop right inside of a shared one is taken, too, unless its steps are short."""
    for columns, loop in ((16, None), (256, "y")):
        nest, x = copy_of_image(SERIAL, columns)
        assert loop_and_places(nest, (), {x: [7 * columns * 4]})[0] == loop


@pytest.mark.promise("threads in teams")
def test_a_serial_loop_elsewhere_stays_serial() -> None:
    """Of two nests with one variable for their rows, the rows of the second one depend on each other."""
    first, x = copy_of_image(SERIAL, 256)
    assert isinstance(first.body, For)
    c, y, total = Var("c"), first.body.var, Buffer("total", [4, 256], scope=Scope.PARAM)
    k = Var("k")
    add = Store(total, (c, k), Load(total, (c, k)) + Load(x, (c, y, k)))
    second = For(c, 4, For(y, 14, For(k, 256, add)), PARALLEL)
    halves = Halves(set(), TARGET, {x: [7 * 256 * 4]})
    for nest in (first, second):
        halves.take(nest)
    nests = [with_deeper(nest, halves.deeper) for nest in (first, second)]
    rows = [next(s for s in pre_order(m) if isinstance(s, For) and s.var is y) for m in nests]
    assert [s.kind for s in rows] == [PARALLEL, SERIAL]


@pytest.mark.promise("threads in teams")
def test_places_clipped_at_the_ends() -> None:
    """Windows that reach over an edge begin there, and yet share rows with what made them."""
    c, y, v = Var("c"), Var("y"), Var("v")
    x, out = (Buffer(n, [4, 14, 16], scope=Scope.PARAM) for n in ("x", "out"))
    above = maximum(y - 1, 0)
    body = For(v, 16, Store(out, (c, y, v), Load(x, (c, above, v))))
    nest = For(c, 4, For(y, 14, body, PARALLEL), PARALLEL)
    assert loop_and_places(nest, (), {x: [7 * 16 * 4]}) == ("y", {"out": 7 * 16 * 4})


@pytest.mark.promise("threads in teams")
def test_stages_of_a_kernel_follow_each_other() -> None:
    """The second nest reads what the first one wrote; what is asked for ahead is not read."""
    first, x = copy_of_image()
    second, y = copy_of_image()
    halves = Halves(set(), TARGET, {x: [7 * 16 * 4]})
    halves.take(first)
    intermediate = next(iter(halves.written))

    def reading(s: Stmt) -> Stmt:
        if isinstance(s, Store):
            ahead = Prefetch(Load(y, (const(0), const(0), const(0))))
            return seq([ahead, Store(s.buffer, s.indices, Load(intermediate, s.indices))])
        return s

    halves.take(rewrite_stmt(second, reading))
    assert [v.name for v in halves.loops.values()] == ["y", "y"]


NETWORK = """#[version = "0.0.5"]
def @main(%x: Tensor[(3, 64, 15, 14), float32], %w: Tensor[(48, 64, 1, 1), float32], %u: Tensor[(4, 11, 990), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %w, padding=[0, 0, 0, 0]));
  %1 = nn.avg_pool2d(%0, pool_size=[3, 2], strides=[3, 2]);
  (%0, %1, transpose(%0, axes=[0, 2, 3, 1]), sum(%0, axis=[1]), add(exp(%u), %u))
}
"""


@pytest.mark.promise("threads in teams")
@pytest.mark.parametrize("depth, vector", [(1, True), (1, False), (2, True), (2, False), (3, False)])
def test_every_step_is_taken_once(depth: int, vector: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever loop is halved, of an even or odd number of steps, for any number of threads."""
    taken: list[int] = []

    class Halved(Halves):
        def take(self, root: Stmt) -> None:
            chains = [c for c in all_shared_loops(root) if len(c) > depth]
            taken.extend(int(c[depth].extent.value) for c in chains)
            self.loops.update({c[0].var: c[depth].var for c in chains})

    monkeypatch.setattr(program, "REGION_WORK", 0)
    module = irtool.infer_types(irtool.parse(NETWORK))
    shapes = [tuple(map(int, p.checked_type.shape)) for p in module["main"].params]
    generator = np.random.default_rng(0)
    values = [generator.random(s, "float32") - 0.5 for s in shapes]
    serial = irtool.build(module, vector=vector).run(values)
    monkeypatch.setattr(share_loops, "Halves", Halved)
    deep = "c{most_parts=100000}"
    threaded = irtool.build(module, target=deep, vector=vector, openmp=True, out_dir=tmp_path)
    text = (tmp_path / "model.c").read_text()
    assert taken and " late = " in text
    with thread_setter(tmp_path / "model.so") as set_threads:
        for threads in (1, 2, 3, 5):
            set_threads(threads)
            for a, b in zip(serial, threaded.run(values), strict=True):
                assert a.tobytes() == b.tobytes()
