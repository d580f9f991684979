"""Parallel loops extended over the loops inside: where iterations are independent, and nowhere else."""

import re
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.backends.c import program
from irtool.schedule import SCHEDULE
from irtool.schedule.graph.threads import share_loops, share_size, shared_loops
from irtool.tir.expr import Load, Var, const
from irtool.tir.kernel import Kernel
from irtool.tir.program import Program
from irtool.tir.stmt import PARALLEL, SERIAL, Allocate, Buffer, For, Let, Scope, Store, pre_order, seq
from irtool.tir.vector_target import VectorTarget
from tests.threads import thread_setter

TARGET = VectorTarget()


def shared(root) -> list[int]:
    """Extents of the loops that are one, in the first parallel loop."""
    loops = share_loops(root, TARGET)
    outer = next(s for s in pre_order(loops) if isinstance(s, For) and s.kind == PARALLEL)
    return [int(s.extent.value) for s in shared_loops(outer)]


def nest(place, extents=(2, 6, 5), value=None, size=10_000):
    """Loops around one store to a flat buffer at `place(i, j, k)`."""
    variables = [Var(n) for n in "ijk"]
    out, x = Buffer("out", [size], scope=Scope.PARAM), Buffer("x", [size], scope=Scope.PARAM)
    stored = value(out, *variables) if value else Load(x, (variables[2],))
    body = Store(out, (place(*variables),), stored)
    for n, (v, extent) in reversed(list(enumerate(zip(variables, extents)))):
        body = For(v, extent, body, SERIAL if n else PARALLEL)
    return body


@pytest.mark.parametrize(
    "place, joined",
    [
        (lambda i, j, k: i * 30 + j * 5 + k, [2, 6, 5]),
        (lambda i, j, k: i * 30 + k * 6 + j, [2, 6, 5]),  # the inner loop moves in smaller steps than the innermost
        (lambda i, j, k: j * 10 + i * 5 + k, [2, 6, 5]),  # in larger ones than the outermost
        (lambda i, j, k: i * 30 + j * 4 + k, [2]),  # parts overlap by one
        (lambda i, j, k: i * 30 + k * 5 + j, [2]),  # … here, too
        (lambda i, j, k: i * 5 + k, [2]),  # every j writes the same
        (lambda i, j, k: i * 30 + (j // 2) * 5 + k, [2]),
        (lambda i, j, k: i * 30 - j * 5 + k + 25, [2]),  # not looked into
        (lambda i, j, k: i * 6 + j, [2, 6]),  # every k writes the same
    ],
)
def test_loops_that_write_apart(place, joined):
    assert shared(nest(place)) == joined


def test_what_is_written_is_read_by_the_same_iteration_only():
    def place(i, j, k):
        return i * 30 + j * 5 + k

    def itself(out, i, j, k):
        return Load(out, (place(i, j, k),)) + const(1.0)

    def neighbour(out, i, j, k):
        return Load(out, (place(i, j, k) + 5,)) + const(1.0)

    def before(out, i, j, k):
        return Load(out, (place(i, const(0), k),))

    assert shared(nest(place, value=itself)) == [2, 6, 5]
    assert shared(nest(place, value=neighbour)) == [2]
    assert shared(nest(place, value=before)) == [2]


def test_places_read_from_memory_are_not_judged():
    index = Buffer("index", [6], "int32", Scope.PARAM)
    assert shared(nest(lambda i, j, k: i * 30 + Load(index, (j,)) * 5 + k)) == [2]


def test_a_name_for_an_expression_is_not_taken_for_a_constant():
    i, j, t = Var("i"), Var("j"), Var("t")
    out = Buffer("out", [100], scope=Scope.PARAM)
    store = Store(out, (i * 20 + j + t,), const(1.0))
    assert shared(For(i, 2, For(j, 4, Let(t, const(3) - j, store)), PARALLEL)) == [2]


def test_memory_of_an_iteration_is_its_own():
    def summed(scope):
        i, j, k = Var("i"), Var("j"), Var("k")
        x, out = Buffer("x", [40], scope=Scope.PARAM), Buffer("out", [8], scope=Scope.PARAM)
        acc = Buffer("acc", [1], scope=scope)
        zero = const(0)
        add = For(k, 5, Store(acc, (zero,), Load(acc, (zero,)) + Load(x, (i * 20 + j * 5 + k,))))
        body = seq([Store(acc, (zero,), const(0.0)), add, Store(out, (i * 4 + j,), Load(acc, (zero,)))])
        return For(i, 2, For(j, 4, Allocate(acc, body)), PARALLEL)

    assert shared(summed(Scope.LOCAL)) == [2, 4]
    assert shared(summed(Scope.GLOBAL)) == [2]


def test_long_loops_stay_as_they_are():
    root = nest(lambda i, j, k: i * 30 + j * 5 + k, (TARGET.most_parts, 6, 5))
    assert share_loops(root, TARGET) is root


NETWORK = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 64, 15, 14), float32], %w: Tensor[(16, 64, 3, 3), float32], %v: Tensor[(300, 70), float32],
          %u: Tensor[(4, 12, 1000), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=16, kernel_size=[3, 3]));
  %1 = nn.max_pool2d(%0, pool_size=[3, 2], strides=[3, 2]);
  %2 = nn.dense(reshape(%1, newshape=[8, 70]), %v, units=300);
  %3 = exp(strided_slice(%u, begin=[0, 0, 0], end=[4, 11, 990], strides=[1], axes=None));
  (nn.softmax(%2), %0, transpose(%0, axes=[0, 2, 3, 1]), sum(%0, axis=[1]), %3)
}
"""


@pytest.mark.parametrize("vector", [True, False])
def test_threads_change_no_bit(tmp_path: Path, vector: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "REGION_WORK", 0)
    generator = np.random.default_rng(0)
    module = irtool.infer_types(irtool.parse(NETWORK))
    shapes = [p.checked_type.shape for p in module["main"].params]
    values = [generator.random(tuple(map(int, s)), "float32") - 0.5 for s in shapes]
    serial = irtool.build(module, vector=vector).run(values)
    threaded = irtool.build(module, vector=vector, openmp=True, out_dir=tmp_path)
    text = (tmp_path / "model.c").read_text()
    assert text.count("#pragma omp") == 1 and "irt_first(worker, " in text
    with thread_setter(tmp_path / "model.so") as set_threads:
        for threads in (2, 3, 5):
            set_threads(threads)
            for _ in range(3):
                for a, b in zip(serial, threaded.run(values), strict=True):
                    assert a.tobytes() == b.tobytes()


def test_parts_have_work_enough_and_are_not_too_many():
    def size(extents):
        root = share_loops(nest(lambda i, j, k: i * 3000 + j * 50 + k, extents), TARGET)
        return share_size(shared_loops(root), TARGET)

    assert size((6400, 60, 50)) == 6400 // TARGET.most_parts
    assert size((640, 10, 5)) == 640 // 4  # as much work as two parts should have, but in four
    assert size((31, 60, 50)) == 31 * 60 // 5
    assert size((2, 1, 1)) == 1


def test_kernels_that_arrive_scheduled_are_shared_in_parts_too() -> None:
    root = nest(lambda i, j, k: i * 3000 + j * 50 + k, (6400, 60, 50))
    (store,) = (s for s in pre_order(root) if isinstance(s, Store))
    kernel = Kernel("k", [store.value.source, store.buffer], (), nests=[root], finished=True)
    program = Program({}, [kernel], [])
    next(stage for stage in SCHEDULE if stage.name == "ShareLoops").run(program, TARGET)
    (scheduled,) = program.kernels
    assert scheduled.nests == (root,)
    assert list(scheduled.shares.values()) == [6400 // TARGET.most_parts]


def parts_of_last_product(channels: int, outputs: int, size: int, tmp_path) -> list[int]:
    """The parts of each loop that threads share in a 1 x 1 convolution between layers with channels in blocks."""
    text = f"""#[version = "0.0.5"]
def @main(%x: Tensor[(1, 16, {size}, {size}), float32], %v: Tensor[({channels}, 16, 1, 1), float32],
          %w: Tensor[({outputs}, {channels}, 1, 1), float32]) {{
  %0 = nn.relu(nn.conv2d(%x, %v, padding=[0, 0]));
  %1 = nn.conv2d(%0, %w, padding=[0, 0]);
  nn.max_pool2d(%1, pool_size=[3, 3], padding=[1, 1])
}}
"""
    weights = {"v": np.ones((channels, 16, 1, 1), "float32"), "w": np.ones((outputs, channels, 1, 1), "float32")}
    irtool.build(irtool.parse(text), weights, mcpu="x86-64-v4", openmp=True, emit="c", out_dir=tmp_path, name="net")
    kernel = re.split(r"\n/\*\n \* nn.conv2d: ", (tmp_path / "net.c").read_text())[-1].split("#else")[0]
    return [int(n) for n in re.findall(r"irt_first\(worker, (\d+)\)", kernel)]


def test_threads_share_more_than_the_few_panels_of_columns(tmp_path):
    """3 panels of 48 channels left 2 threads with two thirds of the time of one."""
    assert max(parts_of_last_product(24, 144, 56, tmp_path)) >= 32


def test_loops_made_of_one_loop_are_shared_in_parts_of_their_own_sizes(tmp_path):
    """The tail of the rows, of few steps, gave the rows before it parts of one step."""
    assert max(parts_of_last_product(32, 144, 58, tmp_path)) < 40


def test_threads_share_blocked_sums_evenly(tmp_path):
    """5 panels of 64 channels for 2 threads took 3 of 5 parts of the time of one."""
    assert parts_of_last_product(960, 320, 7, tmp_path) == [10]
