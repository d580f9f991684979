"""Dilated windows in padding: the same results in fewer steps, where weights are finite and it is worth it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irtool
from irtool.driver.parameters import bind_weights
from irtool.driver.prepare import prepare
from irtool.interp.evaluate import evaluate
from irtool.lower import lower_module
from irtool.schedule.windows.partition_padded_windows import Axis, Range, ranges_of
from irtool.tir.expr import Var, const
from irtool.tir.forms import Map
from irtool.tir.simplify import Simplifier
from tests.nests import run_program
from tests.schedule.padded_windows import changed, numbers, program_of, work

CONVOLUTIONS = {
    "the middle only": ("nn.conv2d(%x, %w, padding=[8, 8], dilation=[8, 8])", (1, 2, 6, 8), (3, 2, 3, 3), 9),
    "nine parts": ("nn.relu(nn.conv2d(%x, %w, padding=[9, 9], dilation=[9, 9]))", (1, 2, 12, 12), (3, 2, 3, 3), 1),
    "one axis": ("nn.conv2d(%x, %w, padding=[0, 48], dilation=[1, 48])", (2, 2, 5, 64), (3, 2, 3, 3), 1),
    "uneven padding": ("nn.conv2d(%x, %w, padding=[12, 8, 4, 16], dilation=[8, 12])", (1, 2, 12, 16), (3, 2, 3, 3), 9 / 4),
    "results without a step": ("nn.conv1d(%x, %w, padding=[60])", (1, 2, 24), (3, 2, 2), 1),
    "steps of two": ("nn.conv2d(%x, %w, padding=[16, 16], dilation=[16, 16], strides=[2, 2])", (1, 2, 16, 16), (3, 2, 3, 3), 9),
    "groups": ("nn.conv2d(%x, %w, padding=[8, 8], dilation=[8, 8], groups=4)", (1, 4, 6, 8), (4, 1, 3, 3), 9),
    "a line": ("nn.conv1d(%x, %w, padding=[48], dilation=[48])", (1, 2, 64), (3, 2, 3), 1),
    "a volume": ("nn.conv3d(%x, %w, padding=[4, 4, 4], dilation=[4, 4, 4])", (1, 2, 4, 4, 4), (3, 2, 3, 3, 3), 27),
}  # fmt: skip


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_results_stay_and_steps_go(name: str) -> None:
    """The last number: by how much weights shrink."""
    call, x, w, shrunk = CONVOLUTIONS[name]
    program, module = program_of(call, x, numbers(*w))
    before, bytes_before = work(program), sum(c.nbytes for c in program.constants)
    after = changed(program)
    assert work(after) <= 0.6 * before
    assert sum(c.nbytes for c in after.constants) * shrunk == bytes_before
    assert not any(k.temporaries for k in after.kernels), "no padded copy is left"
    data = numbers(*x)
    (result,) = run_program(after, [data])
    np.testing.assert_array_equal(np.reshape(result, -1), np.reshape(evaluate(module, [data]), -1))


STAYING = {
    "windows of many steps": ("nn.conv2d(%x, %w, padding=[40, 64])", (1, 2, 9, 40), (1, 2, 40, 65)),
    "padding of one": ("nn.conv2d(%x, %w, padding=[1, 1])", (1, 2, 7, 7), (3, 2, 3, 3)),
    "small parts": ("nn.conv2d(%x, %w, padding=[3, 3], dilation=[3, 3])", (1, 2, 4, 4), (3, 2, 3, 3)),
    "a pool": ("nn.max_pool2d(%x, pool_size=[3, 3], padding=[2, 2], dilation=[2, 2])", (1, 2, 16, 16), (1,)),
}


@pytest.mark.parametrize("name", STAYING)
def test_others_stay(name: str) -> None:
    program, _ = program_of(*STAYING[name][:2], numbers(*STAYING[name][2]))
    kernels = list(program.kernels)
    assert changed(program).kernels == kernels


def test_infinite_weights_meet_the_padding() -> None:
    """Their product with its zeros is NaN."""
    call, x, w, _ = CONVOLUTIONS["the middle only"]
    weights = numbers(*w)
    weights[0, 0, 0, 0] = np.inf
    program, _ = program_of(call, x, weights)
    kernels = list(program.kernels)
    assert changed(program).kernels == kernels


def test_kernels_that_are_called_twice_have_parts_of_both_weights() -> None:
    text = """def @main(%x: Tensor[(1, 2, 8, 8), float32], %w: Tensor[(2, 2, 3, 3), float32], %v: Tensor[(2, 2, 3, 3), float32]) {
  nn.conv2d(nn.conv2d(%x, %w, padding=[9, 9], dilation=[9, 9]), %v, padding=[9, 9], dilation=[9, 9])
}"""
    weights = {"w": numbers(2, 2, 3, 3), "v": numbers(2, 2, 3, 3)[::-1].copy()}
    module = bind_weights(irtool.infer_types(irtool.parse(text)), weights, ("main",), None)
    program = changed(lower_module(prepare(module)))
    assert sorted(c.shape for c in program.constants) == [(2, 2, 1, 1)] * 2
    data = numbers(1, 2, 8, 8)
    (result,) = run_program(program, [data])
    np.testing.assert_array_equal(np.reshape(result, -1), np.reshape(evaluate(module, [data]), -1))


@settings(max_examples=200, deadline=None)
@given(
    extent=st.integers(1, 9),
    stride=st.integers(1, 3),
    dilation=st.integers(1, 9),
    taps=st.integers(1, 4),
    before=st.integers(0, 12),
    after=st.integers(0, 12),
)
def test_ranges(extent: int, stride: int, dilation: int, taps: int, before: int, after: int) -> None:
    """Each position is in one range, whose steps are those inside of the data."""
    positions = max(1, (extent + before + after - dilation * (taps - 1) - 1) // stride + 1)
    v, k = Var("v"), Var("k")
    position = v * stride + k * dilation - before
    ranges = ranges_of([position, const(extent - 1) - position], Simplifier({}), Axis(v, k), {v: positions, k: taps})
    assert [x.first for x in ranges[1:]] == [x.end for x in ranges[:-1]]
    assert (ranges[0].first, ranges[-1].end) == (0, positions)
    for x in ranges:
        for y in range(x.first, x.end):
            inside = [n for n in range(taps) if 0 <= y * stride + n * dilation - before < extent]
            assert inside == list(range(x.first_step, x.end_step)), (y, x)
    assert all(
        isinstance(x, Range) and (a.first_step, a.end_step) != (x.first_step, x.end_step) for a, x in pairwise(ranges)
    )


def test_results_without_steps_are_written() -> None:
    call, x, w, _ = CONVOLUTIONS["results without a step"]
    program, _ = program_of(call, x, numbers(*w))
    (kernel,) = changed(program).kernels
    assert any(isinstance(form, Map) for form in kernel.stages)
