"""Phases of strided transposed convolutions: nothing lies in between, and results stay."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.driver.prepare import prepare
from irtool.interp.evaluate import evaluate
from irtool.lower import lower_module
from irtool.schedule.core.program_rewriter import replace_kernels
from irtool.schedule.windows.phases import decompose_phases
from irtool.tir.stmt import Allocate, Scope, pre_order
from tests.nests import run_program
from tests.schedule.padded_windows import numbers


@pytest.mark.parametrize(
    "attributes",
    [
        "strides=[2, 2], padding=[1, 1]",
        "strides=[2, 2], padding=[1, 1, 2, 0]",
        "strides=[2, 4], padding=[1, 1]",
        "strides=[4, 2], padding=[1, 1], output_padding=[2, 1]",
        "strides=[3, 3], padding=[1, 1]",
        "strides=[3, 2], padding=[0, 1, 1, 3]",
        "strides=[5, 1], padding=[2, 0], output_padding=[4, 0]",
        "strides=[2, 2], padding=[1, 1], groups=2",
    ],
)
def test_nothing_lies_in_between(attributes: str) -> None:
    text = f"""#[version = "0.0.5"]
def @main(%x: Tensor[(1, 2, 4, 5), float32], %w: Tensor[(2, 3, 4, 4), float32]) {{
  nn.relu(nn.conv2d_transpose(%x, %w, kernel_layout="IOHW", {attributes}))
}}
"""
    module = prepare(irtool.parse(text))
    program = lower_module(module)
    (kernel,) = program.kernels
    assert any(isinstance(s, Allocate) for s in pre_order(kernel.body))
    replace_kernels(program, decompose_phases)
    (joined,) = program.kernels
    assert not joined.temporaries
    assert not [s for s in pre_order(joined.body) if isinstance(s, Allocate) and s.buffer.scope == Scope.GLOBAL]
    data = [numbers(1, 2, 4, 5), numbers(2, 3, 4, 4)]
    (result,) = run_program(program, data)
    np.testing.assert_array_equal(np.reshape(result, -1), np.reshape(evaluate(module, data), -1))


def test_a_nest_without_phases_stays() -> None:
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 2, 4, 5), float32], %w: Tensor[(3, 2, 3, 3), float32]) { nn.conv2d(%x, %w, padding=[1, 1]) }
"""
    (kernel,) = lower_module(prepare(irtool.parse(text))).kernels
    assert decompose_phases(kernel) is kernel
