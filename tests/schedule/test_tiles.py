"""Tiles fit the registers, with what a step broadcasts."""

from itertools import pairwise, product

import numpy as np
import pytest

import irtool
from irtool.driver.prepare import prepare
from irtool.interp.random_inputs import random_inputs
from irtool.lower import lower_module
from irtool.passes.core.bind import bind_params
from irtool.schedule import schedule_program
from irtool.schedule.core.block import Block
from irtool.schedule.core.forms import Map, Reduction
from irtool.schedule.cost.register_tiles import Tile, WindowReads, choose_tile, choose_window_tile
from irtool.schedule.cost.tile_choice import choose_register_tile
from irtool.schedule.strategies.base import Stage
from irtool.schedule.strategies.elementwise.strategy import Elementwise
from irtool.schedule.strategies.register_tile.strategy import tile_reduction
from irtool.tir.expr import Call, Load, Var, const
from irtool.tir.stmt import Buffer, Scope, Store
from irtool.tir.vector_target import VectorTarget

SSE, AVX2, AVX512, NEON = VectorTarget(16, 16), VectorTarget(32, 16), VectorTarget(64, 32), VectorTarget(16, 32)


@pytest.mark.parametrize("machine", [SSE, AVX2, AVX512, NEON])
def test_accumulators_fit_the_registers(machine):
    for rows, vectors in product((1, 2, 7, 14, 28, 49, 56, 128, 3136), (1, 2, 3, 4, 8, 32)):
        tile = choose_tile(rows, vectors, machine)
        assert tile.points + tile.vectors <= machine.registers
        assert tile.rows <= rows and tile.vectors <= vectors


@pytest.mark.parametrize("machine", [AVX2, NEON])
def test_what_is_broadcast_has_registers_too(machine):
    for rows, vectors in product((56, 128, 3136), (1, 2, 4, 8, 32)):
        tile = choose_tile(rows, vectors, machine)
        if machine is NEON:
            assert tile.points + tile.rows <= machine.registers
        assert tile.points + tile.vectors + 1 <= machine.registers
        assert tile.points >= 6, "enough sums to hide a multiply-add's latency"


def test_tiles_of_avx2_leave_one_register():
    assert choose_tile(197, 96, AVX2) == Tile(6, 2)
    assert choose_tile(28, 2, AVX2, far=True) == Tile(6, 2)
    assert choose_tile(7, 2, AVX2, far=True) == Tile(4, 2), (
        "seven rows of two vectors are 14 sums, two vectors and a value"
    )


def test_many_rows_of_one_vector_would_spill():
    assert choose_tile(128, 1, AVX512).rows <= 18


def test_a_tile_stays_in_its_block():
    assert choose_tile(56, 6, AVX512, block=4).vectors in (1, 2, 4)


PRODUCT = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 9, 20), float32], %w: Tensor[(2, 20, {n}), float32], %r: Tensor[(2, 9, {n}), float32]) {{
  add(nn.batch_matmul(%x, %w, transpose_b=False), exp(%r))
}}
"""


@pytest.mark.promise("full vectors")
@pytest.mark.parametrize("again", [True, False])
@pytest.mark.parametrize("n", [17, 29, 49, 197, 1500, 50257])
def test_any_extent_is_in_full_vectors(n, again):
    i, j, k = Var("i"), Var("j"), Var("k")
    x, w, out = (Buffer(b, s, scope=Scope.PARAM) for b, s in (("x", (8, 64)), ("w", (64, n)), ("out", (8, n))))
    acc = Buffer("acc", (), scope=Scope.LOCAL)
    update = Load(acc, ()) + Load(x, (i, k)) * Load(w, (k, j))
    r = Reduction(((i, 8), (j, n)), acc, const(0.0), ((k, 64),), update, (Store(out, (i, j), Load(acc, ())),))
    choice = choose_register_tile(r, AVX512, again)
    assert choice is not None and choice.lanes == 16
    parts = tile_reduction(Block.of(r), choice, AVX512)
    bounds = sorted({b.ranges.get(j, (0, n)) for b in parts})
    assert bounds[0][0] == 0 and bounds[-1][1] == n and all(b >= c for (_, b), (c, _) in pairwise(bounds))
    widths = {b.tile[-1][1] for b in parts if b.tile}
    assert widths == {16} if again else 16 in widths


@pytest.mark.promise("full vectors")
@pytest.mark.parametrize("n", [7, 29])
def test_results_in_the_place_of_an_operand_are_made_once(n):
    module = irtool.infer_types(irtool.parse(PRODUCT.format(n=n)))
    values = random_inputs(module["main"], 0)
    artifact = irtool.build(module)
    assert artifact.arena_bytes <= 2 * 9 * n * 4 + 64
    np.testing.assert_allclose(artifact.run(values), irtool.evaluate(module, values), rtol=1e-5, atol=1e-5)


def test_vectors_are_as_narrow_as_the_blocks_that_they_are_stored_in():
    """24 channels lie in blocks of 8: vectors of 16 would be stored element by element."""
    shapes = {"x": (1, 48, 28, 28), "a": (48, 48, 1, 1), "b": (24, 48, 1, 1), "c": (48, 24, 1, 1)}
    declared = ", ".join(f"%{n}: Tensor[{s}, float32]" for n, s in shapes.items())
    text = "nn.conv2d(nn.relu(nn.conv2d(nn.relu(nn.conv2d(%x, %a)), %b)), %c)"
    module = irtool.infer_types(irtool.parse(f'#[version = "0.0.5"]\ndef @main({declared}) {{ {text} }}'))
    weights = {n: np.ones(s, "float32") for n, s in shapes.items() if n != "x"}
    program = lower_module(prepare(bind_params(module, weights)))
    schedule_program(program, AVX512)
    assert [k.choice.reason.split()[-1] for k in program.kernels] == ["16", "8", "16"]
    assert "axis ax1 of 24" in program.kernels[1].choice.reason


def windows_of_3(stride: int, block: int = 0, far: bool = False) -> WindowReads:
    """Reads of 3 x 3 windows with weights for each vector, in float32 and vectors of 32 bytes."""
    return WindowReads(3, stride, 9, 1, 0, block, line=2, fetched=stride * stride if far else 0)


def test_a_window_is_read_once_for_the_rows_of_a_tile():
    reads = windows_of_3(stride=1)
    assert 9 * reads.loads(7, 1, AVX2) == 9 * 3 + 9, "nine elements of three rows, and the weights"
    assert 9 * windows_of_3(stride=2).loads(7, 1, AVX2) == 15 * 3 + 9
    assert 9 * windows_of_3(stride=3).loads(7, 1, AVX2) == 21 * 3 + 9
    assert 9 * reads.loads(4, 2, AVX2) == 2 * 6 * 3 + 4 * 2 * 9, "no register is left for the weights"


def test_tiles_of_windows_are_as_wide_as_lines_that_come_from_afar():
    """Two vectors of blocks of 16 channels lie in a line: one after the other, each would fetch it."""
    rows = (28, 56, 112)
    assert [choose_window_tile(n, 4, AVX2, windows_of_3(1, block=2)) for n in rows] == [Tile(7, 1)] * 3
    assert [choose_window_tile(n, 4, AVX2, windows_of_3(2, block=2)) for n in rows] == [Tile(7, 1)] * 3
    assert [choose_window_tile(n, 4, AVX2, windows_of_3(2, block=2, far=True)) for n in rows] == [Tile(4, 2)] * 3
    assert [choose_window_tile(n, 4, AVX2, windows_of_3(2, block=1, far=True)) for n in rows] == [Tile(7, 1)] * 3


@pytest.mark.parametrize(("vectors", "run"), [(4, 4), (8, 8), (11, 6), (32, 8), (3, 1)])
def test_runs_of_vectors_are_as_long_as_one_another(vectors, run):
    assert choose_window_tile(14, vectors, AVX512, windows_of_3(stride=3)).vectors == run


@pytest.mark.parametrize(("size", "tile"), [(2, "1 x 8 x 16"), (3, "7 x 1 x 16")], ids=["apart", "overlapping"])
def test_windows_that_do_not_overlap_are_read_in_the_order_of_memory(size, tile):
    call = f'nn.max_pool2d(%x, pool_size=[{size}, {size}], strides=[2, 2], padding=[0, 0, {size - 2}, {size - 2}], layout="NHWC")'
    text = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(1, 14, 14, 512), float32]) {{ {call} }}'
    program = lower_module(prepare(irtool.infer_types(irtool.parse(text))))
    schedule_program(program, AVX512)
    assert program.kernels[-1].choice.reason.endswith(f"axis ax3 of 512, tile {tile}")


@pytest.mark.parametrize("multiply_adds, last", [(1, (48, 56)), (2, (24, 56))])
def test_a_row_ends_in_half_a_vector_that_takes_half_the_time(multiply_adds, last):
    machine = VectorTarget(64, 32, multiply_adds=multiply_adds)
    i, j, k = Var("i"), Var("j"), Var("k")
    x, w, out = (Buffer(b, s, scope=Scope.PARAM) for b, s in (("x", (64, 64)), ("w", (64, 56)), ("out", (64, 56))))
    acc = Buffer("acc", (), scope=Scope.LOCAL)
    update = Load(acc, ()) + Load(x, (i, k)) * Load(w, (k, j))
    r = Reduction(((i, 64), (j, 56)), acc, const(0.0), ((k, 64),), update, (Store(out, (i, j), Load(acc, ())),))
    choice = choose_register_tile(r, machine, again=True)
    assert choice is not None and choice.lanes == 16 and choice.is_half_last == (multiply_adds == 1)
    parts = tile_reduction(Block.of(r), choice, machine)
    assert max(b.ranges[j] for b in parts) == last


@pytest.mark.parametrize(
    "multiply_adds, elements, function, lanes",
    [
        (1, 1 << 20, "", 8),
        (2, 1 << 20, "", 16),
        (1, 1 << 10, "", 16),
        (1, 1 << 20, "pow", 16),
        (1, 1 << 20, "atan2", 16),
    ],
)
def test_large_streams_are_read_in_the_vectors_that_the_processor_computes(multiply_adds, elements, function, lanes):
    machine = VectorTarget(64, 32, multiply_adds=multiply_adds)
    i = Var("i")
    a, b, out = (Buffer(name, (elements,), scope=Scope.PARAM) for name in ("a", "b", "out"))
    x, y = Load(a, (i,)), Load(b, (i,))
    value = Call(function, (x, y), "float32") if function else x + y
    stage = Stage(Map(((i, elements),), (Store(out, (i,), value),)), machine)
    candidate = Elementwise().choose(stage)
    assert candidate is not None
    (block,) = Elementwise().parts(stage, candidate)
    assert block.loops[-1][1] == lanes
