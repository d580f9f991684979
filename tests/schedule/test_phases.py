"""Phases of strided transposed convolutions: which steps of a loop each has, and that nothing lies in between."""

from __future__ import annotations

import pytest

import irtool
from irtool.driver.prepare import prepare
from irtool.lower import lower_module
from irtool.schedule.windows.subpixel import decompose_subpixels, span_in_phase
from irtool.tir.expr import Var
from irtool.tir.stmt import Allocate, Scope, pre_order


@pytest.mark.parametrize("by", [1, 2, 3, 5])
@pytest.mark.parametrize("added", [0, 1, 2, 4])
def test_steps_of_a_phase(by: int, added: int) -> None:
    """Of a loop over v = (y + added) // by those where y = by * v + phase - added is within its extent."""
    v, low = Var("v"), Var("low")
    for whole in range(1, 12):
        for phase in range(by):
            first, end = span_in_phase(v, 99, {v: (by, low, whole, added)}, {low: phase})
            inside = [n for n in range(99) if 0 <= by * n + phase - added < whole]
            assert list(range(first, end)) == inside, (whole, phase)
    assert span_in_phase(v, 7, {low: (by, low, 5, added)}, {low: 0}) == (0, 7)


@pytest.mark.parametrize(
    "attributes",
    [
        "strides=[2, 2], padding=[1, 1]",
        "strides=[2, 2], padding=[1, 1, 2, 0]",
        "strides=[2, 4], padding=[1, 1]",
        "strides=[4, 2], padding=[1, 1], output_padding=[2, 1]",
    ],
)
def test_nothing_lies_in_between(attributes: str) -> None:
    text = f"""#[version = "0.0.5"]
def @main(%x: Tensor[(1, 2, 4, 5), float32], %w: Tensor[(2, 3, 4, 4), float32]) {{
  nn.relu(nn.conv2d_transpose(%x, %w, kernel_layout="IOHW", {attributes}))
}}
"""
    (kernel,) = lower_module(prepare(irtool.parse(text))).kernels
    assert any(isinstance(s, Allocate) for s in pre_order(kernel.body))
    joined = decompose_subpixels(kernel)
    assert not [s for s in pre_order(joined.body) if isinstance(s, Allocate) and s.buffer.scope == Scope.GLOBAL]


def test_a_nest_without_phases_stays() -> None:
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 2, 4, 5), float32], %w: Tensor[(3, 2, 3, 3), float32]) { nn.conv2d(%x, %w, padding=[1, 1]) }
"""
    (kernel,) = lower_module(prepare(irtool.parse(text))).kernels
    assert decompose_subpixels(kernel) is kernel
