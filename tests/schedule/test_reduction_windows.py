"""Windows that lowering notes in a reduction: they agree with the indices of operands after every stage, and rewrites carry or drop them."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

import irtool
from irtool import te
from irtool.driver.prepare import prepare
from irtool.lower import lower_module
from irtool.lower.compose import TensorGraph
from irtool.lower.nest import lower_function
from irtool.schedule import VectorTarget
from irtool.schedule.core.block import Block
from irtool.schedule.core.forms import substituted
from irtool.schedule.pipeline import SCHEDULE
from irtool.schedule.primitives import fuse, split
from irtool.schedule.windows.phases import decompose_phases
from irtool.schedule.windows.slice_domain import Span, slice_domain
from irtool.tir.expr import Const, Expr, Load, Var, const, post_order, substitute
from irtool.tir.forms import Reduction, nest_of
from irtool.tir.program import Program
from irtool.tir.recognise import recognise
from irtool.tir.simplify import Simplifier
from tests.schedule.larger_networks import module_text, networks
from tests.schedule.padded_windows import changed, numbers, program_of

MACHINE = VectorTarget(32, 16)


def operands(r: Reduction) -> list[Load]:
    return [e for e in post_order(r.update) if isinstance(e, Load) and e.source is not r.acc]


def agrees(r: Reduction) -> bool:
    """True if each window's index has, at some points of the loops, the values of the index of an operand."""
    generator = random.Random(5)
    loops = (*r.loops, *r.inner)
    for w in r.windows:
        candidates = {i for e in operands(r) for i in e.indices}
        for _ in range(8):
            point: dict[Expr, Expr] = {v: const(generator.randrange(n), v.dtype) for v, n in loops}
            value = _value(w.index, point)
            candidates = {i for i in candidates if _value(i, point) == value}
        if not candidates:
            return False
    return True


def _value(e: Expr, point: dict[Expr, Expr]) -> object:
    folded = Simplifier({})(substitute(e, point))
    return folded.value if isinstance(folded, Const) else folded


def reductions(program: Program) -> Iterator[Reduction]:
    return (f for k in program.kernels for f in k.stages if isinstance(f, Reduction))


@pytest.mark.parametrize("key", networks())
def test_windows_agree_with_indices_after_every_stage(key: str):
    program = lower_module(prepare(irtool.parse(module_text(key))))
    assert all(map(agrees, reductions(program)))
    for stage in SCHEDULE:
        if stage.applies(MACHINE):
            stage.run(program, MACHINE)
            assert all(map(agrees, reductions(program))), stage.name


@pytest.mark.parametrize(
    ("call", "shapes", "windows"),
    [
        ("nn.conv2d(%x, %w, padding=[1, 1])", [(1, 4, 6, 5), (16, 4, 3, 3)], [(1, 1), (1, 1)]),
        ("nn.conv2d(%x, %w, strides=[2, 1])", [(1, 4, 6, 5), (16, 4, 3, 2)], [(2, 1), (1, 1)]),
        ("nn.conv2d(%x, %w, dilation=[2, 1])", [(1, 4, 9, 5), (16, 4, 3, 2)], [(1, 2), (1, 1)]),
        ("nn.conv2d(%x, %w)", [(1, 4, 6, 5), (16, 4, 1, 1)], []),
        ("nn.conv2d(%x, %w)", [(1, 4, 6, 3), (16, 4, 3, 3)], [(1, 1), (0, 1)]),
        ("nn.conv2d(%x, %w, groups=2)", [(1, 4, 6, 5), (16, 2, 3, 3)], [(1, 1), (1, 1)]),
        ("nn.conv2d(%x, %w, groups=2)", [(1, 4, 6, 5), (2, 2, 1, 3)], [(1, 1)]),
        ("nn.conv1d(%x, %w, strides=[3])", [(1, 4, 9), (16, 4, 5)], [(3, 1)]),
        ("nn.conv3d(%x, %w)", [(1, 4, 5, 6, 7), (16, 4, 2, 3, 4)], [(1, 1)] * 3),
        (
            'nn.conv2d(%x, %w, data_layout="NHWC", kernel_layout="HWIO")',
            [(1, 6, 5, 4), (3, 3, 4, 16)],
            [(1, 1), (1, 1)],
        ),
        ("nn.max_pool2d(%x, pool_size=[3, 2], strides=[2, 2])", [(1, 2, 9, 8)], [(2, 1), (2, 1)]),
        ("nn.dense(%x, %w, units=None)", [(5, 40), (24, 40)], []),
        ("sum(%x, axis=[1])", [(5, 40)], []),
    ],
)
def test_operators_say_which_axes_run_over_windows(call: str, shapes: list, windows: list):
    params = ", ".join(f"%{n}: Tensor[{s}, float32]" for n, s in zip("xw", shapes))
    program = lower_module(prepare(irtool.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ {call} }}')))
    (r,) = reductions(program)
    assert [(w.stride, w.dilation) for w in r.windows] == windows


@pytest.mark.parametrize("key", ["layer of ResNet", "dilated", "sequence", "transposed", "decoder layer", "large pool"])
def test_windows_are_there_when_strategies_ask_for_them(key: str):
    program = lower_module(prepare(irtool.parse(module_text(key))))
    for stage in SCHEDULE:
        if stage.name == "TransformConvolutions":
            break
        if stage.applies(MACHINE):
            stage.run(program, MACHINE)
    rank = 1 if key == "sequence" else 2
    assert all(len(r.windows) == rank for r in reductions(program))


def test_each_phase_of_a_transposed_convolution_has_windows_of_the_unpadded_data():
    module = irtool.parse(module_text("transposed"))
    (kernel,) = lower_module(prepare(module)).kernels
    phases = [f for f in decompose_phases(kernel).stages if isinstance(f, Reduction)]
    assert len(phases) == 4
    assert all(len(r.windows) == 2 and agrees(r) for r in phases)
    assert {w.first.value for r in phases for w in r.windows} == {-1, 0}


def test_parts_of_dilated_windows_have_windows_of_their_own():
    program, _ = program_of("nn.conv1d(%x, %w, padding=[48], dilation=[48])", (1, 2, 64), numbers(3, 2, 3))
    changed(program)
    parts = list(reductions(program))
    assert len(parts) > 1
    assert all(map(agrees, parts))
    assert all(w.dilation == 48 for r in parts for w in r.windows)
    assert any(r.windows for r in parts)


def windowed(window: bool = True, extent: int = 20) -> Reduction:
    """A sum over windows of three elements, two apart, and over four channels."""
    x, w = te.placeholder((4, 2 * extent + 2), name="x"), te.placeholder((4, 3), name="w")
    c, k = te.reduce_axis(4, name="c"), te.reduce_axis(3, name="k", window=window)
    out = te.compute((extent,), lambda y: te.sum(x[c, y * 2 + k] * w[c, k], axis=[c, k]), name="out")
    (r,) = lower_function(TensorGraph((x, w), (out,), (), ()), "k").stages
    assert isinstance(r, Reduction)
    return r


def test_an_axis_that_no_operator_calls_a_window_is_none():
    assert not windowed(window=False).windows


def test_a_sliced_domain_has_the_same_windows_from_another_element_on():
    r = windowed()
    (y, _), (_, (k, _)) = r.loops[0], r.inner
    (w,) = slice_domain(r, {y: Span.between(5, 9), k: Span.between(1, 3)}, {}).windows
    assert (w.stride, w.dilation, w.first.value) == (2, 1, 11)


def test_a_single_result_has_a_window_without_stride():
    r = windowed()
    (w,) = slice_domain(r, {}, {r.loops[0][0]: 3}).windows
    assert w.result is None
    assert (w.stride, w.dilation, w.first.value) == (0, 1, 6)


def test_a_single_element_is_no_window():
    r = windowed()
    assert not slice_domain(r, {}, {r.inner[1][0]: 2}).windows


def test_every_other_element_is_dilated():
    r = windowed()
    k, half = r.inner[1][0], Var("half")
    (w,) = substituted(r, {k: half * 2}, r.loops, (r.inner[0], (half, 2))).windows
    assert (w.tap, w.stride, w.dilation) == (half, 2, 2)


def test_a_split_or_fused_tap_is_no_window_and_other_axes_may_be_split():
    r = windowed()
    (c, _), (k, _) = r.inner
    assert not split(Block.of(r), k, [1, 3], ["a", "b"]).result().windows
    (w,) = split(Block.of(r), c, [2, 2], ["a", "b"]).result().windows
    assert w.stride == 2
    assert not fuse(Block.of(r), c, k).result().windows


def test_overlapping_windows_of_plain_loops_are_windows():
    body = nest_of(windowed(window=False))
    _, (r,) = recognise(body)
    assert isinstance(r, Reduction)
    (w,) = r.windows
    assert (w.stride, w.dilation) == (2, 1)
    assert agrees(r)
