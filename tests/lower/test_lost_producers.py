"""A nest that reads memory that no statement wrote is refused when its scratch memory is planned."""

from __future__ import annotations

import pytest

import irtool
from irtool.lower import lower_module
from irtool.lower.workspace import plan_workspace
from irtool.tir.kernel import Kernel

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4, 9, 9), float32], %w: Tensor[(8, 4, 3, 3), float32]) {
  nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3])
}
"""


def kernel_of_two_stages() -> Kernel:
    module = irtool.run_passes(irtool.infer_types(irtool.parse(TEXT)), "build<O3>")
    (kernel,) = lower_module(module).kernels
    assert len(kernel.stages) == 2 and kernel.temporaries
    return kernel


def test_a_padded_copy_that_is_made_has_a_place() -> None:
    assert [*plan_workspace(kernel_of_two_stages()).buffers]


def test_a_padded_copy_that_nothing_makes_is_refused() -> None:
    kernel = kernel_of_two_stages()
    with pytest.raises(AssertionError, match="reads pad, which no statement before wrote"):
        plan_workspace(kernel.with_stages(kernel.stages[1:]))
