"""Axes along which every place moves as along one are one loop, however many there are."""

from __future__ import annotations

import pytest

import irtool
from irtool.driver.prepare import prepare
from irtool.lower import lower_module
from irtool.schedule.core.axes import fuse_axes, fuse_sums
from irtool.tir.forms import Map, Reduction


def stages(text: str) -> list[Map | Reduction]:
    (kernel,) = lower_module(prepare(irtool.parse(f'#[version = "0.0.5"]\ndef @main({text}\n'))).kernels
    return [f for f in kernel.stages if isinstance(f, Map | Reduction)]


@pytest.mark.parametrize(("axes", "left"), [([], [120]), ([1, 2, 3], [60]), ([0, 1, 2], [24]), ([1, 3], [3, 5])])
def test_axes_that_are_summed(axes: list[int], left: list[int]) -> None:
    which = f", axis={axes}" if axes else ""
    (form,) = stages(f"%x: Tensor[(2, 3, 4, 5), float32]) {{ sum(%x{which}) }}")
    assert isinstance(form, Reduction)
    assert [n for _, n in fuse_sums(form).inner] == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("%x: Tensor[(2, 3, 4, 5), float32]) { nn.relu(%x) }", [120]),
        ("%x: Tensor[(2, 3, 4, 5), float32], %y: Tensor[(3, 1, 1), float32]) { add(%x, %y) }", [2, 3, 20]),
        ("%x: Tensor[(2, 3, 4, 5), float32]) { transpose(%x, axes=[2, 3, 0, 1]) }", [20, 6]),
    ],
)
def test_axes_of_results(text: str, left: list[int]) -> None:
    (form,) = stages(text)
    assert isinstance(form, Map)
    assert [n for _, n in fuse_axes(form).loops] == left
