"""Padded copies of what is summed along vectors are left out."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.schedule import VectorTarget
from irtool.tir.forms import Map, Reduction
from irtool.tir.kernel import Kernel
from tests.schedule.programs import V, scheduled, values


def image(last: str, channels: int = 16, size: tuple[int, int] = (36, 33)) -> irtool.Module:
    """Three channels made of many, behind a convolution that lays these side by side."""
    h, w = size
    return irtool.infer_types(
        irtool.parse(
            f"""{V}def @main(%x: Tensor[(1, 8, {h}, {w}), float32], %u: Tensor[({channels}, 8, 1, 1), float32], %w: Tensor[{last.split("|")[0]}, float32]) {{
  %0 = nn.relu(nn.conv2d(%x, %u));
  tanh({last.split("|")[1]})
}}
"""
        )
    )


LAST = {
    "convolution": "(3, 16, 3, 3)|nn.conv2d(%0, %w, padding=[1, 1, 1, 1])",
    "more on one side": "(2, 16, 3, 2)|nn.conv2d(%0, %w, padding=[0, 1, 2, 0])",
    "two steps apart": "(1, 16, 5, 3)|nn.conv2d(%0, %w, padding=[2, 1, 2, 1], strides=[2, 2])",
    "phases": '(16, 3, 4, 4)|nn.conv2d_transpose(%0, %w, channels=3, kernel_size=[4, 4], strides=[2, 2], padding=[1, 1, 1, 1], kernel_layout="IOHW")',
    "phases of other sizes": '(16, 1, 3, 3)|nn.conv2d_transpose(%0, %w, channels=1, kernel_size=[3, 3], strides=[2, 1], padding=[1, 1, 1, 1], kernel_layout="IOHW")',
}


def last_kernel(module: irtool.Module, target: VectorTarget) -> Kernel:
    return scheduled(module, target).kernels[-1]


@pytest.mark.parametrize("case", LAST)
def test_results(case: str) -> None:
    module = image(LAST[case])
    kernel = last_kernel(module, VectorTarget(64, 32))
    assert kernel.choice is not None and kernel.choice.strategy == "row_reduction"
    assert not any(b.name == "pad" for b in kernel.temporaries)
    inputs = values(module)
    x = inputs.pop("x")
    expected = np.asarray(irtool.evaluate(module, [x, *inputs.values()]))
    for flags in ("", "{mcpu=x86-64-v3,openmp=true,parallel_elements=1}", "{vector=none}"):
        actual = irtool.build(module, params=inputs, inputs=["x"], target=f"c{flags}").run([x])
        np.testing.assert_allclose(actual, expected, atol=2e-5)


def test_each_phase_has_a_part_for_each_border() -> None:
    stages = last_kernel(image(LAST["phases"]), VectorTarget(64, 32)).stages
    assert [type(s) for s in stages] == [*[Reduction] * 16, Map]
    assert sum(s.work for s in stages if isinstance(s, Reduction)) == 3 * 16 * (4 * 36 - 2) * (4 * 33 - 2)


def test_small_copies_stay() -> None:
    small = last_kernel(image(LAST["convolution"], size=(8, 9)), VectorTarget(64, 32))
    assert any(b.name == "pad" for b in small.temporaries)
