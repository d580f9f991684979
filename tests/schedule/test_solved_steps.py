"""Windows of which one step lies in the data: no loop over the others, whatever surrounds them."""

from __future__ import annotations

import numpy as np
import pytest

from irtool.interp.evaluate import evaluate
from irtool.tir.forms import Reduction
from tests.nests import run_program
from tests.schedule.padded_windows import changed, numbers, program_of, work

SINGLE = {
    "a generator's first layer": (
        'nn.relu(nn.conv2d_transpose(%x, %w, channels=8, kernel_size=[4, 4], kernel_layout="IOHW"))',
        (2, 6, 1, 1),
        (6, 8, 4, 4),
        16,
    ),
    "a pixel with padding": ("nn.conv2d(%x, %w, padding=[1, 1])", (1, 4, 1, 1), (8, 4, 3, 3), 9),
    "a line of pixels": ("nn.conv2d(%x, %w, padding=[2, 0, 2, 0])", (1, 4, 1, 9), (8, 4, 5, 1), 5),
    "groups": ("nn.conv2d(%x, %w, padding=[1, 1], groups=4)", (1, 4, 1, 1), (4, 1, 3, 3), 9),
    "a sequence": ("nn.conv1d(%x, %w, padding=[2, 4], dilation=[2])", (1, 4, 1), (8, 4, 4), 4),
}


@pytest.mark.parametrize("name", SINGLE)
def test_a_step_is_computed(name: str) -> None:
    """The last number: by how much the work shrinks."""
    call, x, w, less = SINGLE[name]
    program, module = program_of(call, x, numbers(*w))
    before = work(program)
    after = changed(program)
    assert work(after) * less == before
    assert not any(k.temporaries for k in after.kernels), "no padded copy is left"
    assert not any(f.guards for k in after.kernels for f in k.stages if isinstance(f, Reduction))
    data = numbers(*x)
    (result,) = run_program(after, [data])
    np.testing.assert_array_equal(np.reshape(result, -1), np.reshape(evaluate(module, [data]), -1))


def test_products_with_infinite_weights_are_made() -> None:
    """Zero times infinity is not zero."""
    call, x, w, _ = SINGLE["a pixel with padding"]
    weights = numbers(*w)
    weights[0, 0, 0, 0] = np.inf
    program, module = program_of(call, x, weights)
    before = work(program)
    after = changed(program)
    assert work(after) == before
    data = np.ones(x, "float32")
    (result,) = run_program(after, [data])
    np.testing.assert_array_equal(np.reshape(result, -1), np.reshape(evaluate(module, [data]), -1))
