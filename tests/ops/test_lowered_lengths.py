"""Loop nests of lengths that only the run knows, for numbers of them, compute what the interpreter computes for these numbers.

Each extent of an operator's cases becomes a length in turn. So a nest that has the bound of a length in the place of its formula is found.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool
from irtool.driver.operator_cases import inputs_of
from irtool.interp.random_inputs import random_inputs
from irtool.ir import Module
from irtool.ir.values import value_leaves
from irtool.ops.base import Operator, operators
from irtool.ops.cases import Case
from tests.ops.open_cases import FROM_NONE, lengths_of, ranges_of_numbers, with_extent

MOST = 6
"""Pairs of a case and an extent of each operator."""

REFUSED = {
    "dft": "the factors of the length are steps of the transform",
    "stft": "the factors of the length are steps of the transform",
    "length.cut": "as many elements are cut as its shape says, whatever extents the data have",
    "nn.fifo_buffer": "how much stays of the buffer is a difference of extents",
    "nn.sparse_conv2d": "weights that only the run knows are no constants",
    "nn.sparse_dense": "blocks of weights are numbers",
    "random.multinomial": "how many numbers are drawn decides the next key",
    "random.normal": "how many numbers are drawn decides the next key",
    "random.uniform": "how many numbers are drawn decides the next key",
    "qnn.avg_pool2d": "its scales are constants",
    "nn.sparse_transpose": "two extents less one are compared with the number of rows",
    "searchsorted": "rows of drawn numbers are not sorted",
    "strided_set": "the rank is a length",
    "vision.multibox_prior": "steps between boxes are quotients by an extent",
    "vision.regular_non_max_suppression": "the number of classes is a length",
    "vision.roi_align": "five numbers are read of each region",
    "vision.roi_pool": "five numbers are read of each region",
    "unique": "the interpreter does not run its nest, whatever the extents are",
}
"""Operators of which a case has no nest, and the reason."""

NAMES = [n for n in operators.names() if operators.get(n).compute is not Operator.compute and n not in REFUSED]


REFUSED_AT_NONE = {
    **REFUSED,
    "image.resize2d": "pixels of an image without any have no value",
}
"""The same of lengths that may be 0."""

FEW = 2
"""Pairs of a case and a length that may be 0 of each operator."""


def values_of(module: Module, inputs: list[Any]) -> list[np.ndarray]:
    return [np.asarray(v) for v in value_leaves(irtool.evaluate(module, inputs))]


@pytest.mark.parametrize("name", NAMES)
def test_nests_of_lengths(name: str) -> None:
    for _, (case, extent, module) in zip(range(MOST), lengths_of(name), strict=False):
        check(case, extent, module, {1, 2, 5, extent})


@pytest.mark.parametrize("name", [n for n in NAMES if n not in REFUSED_AT_NONE])
def test_nests_of_lengths_that_may_be_0(name: str) -> None:
    for _, (case, extent, module) in zip(range(FEW), lengths_of(name, FROM_NONE), strict=False):
        check(case, extent, module, {0, extent})


def check(case: Case, extent: int, module: Module, numbers: set[int]) -> None:
    """Compares nests of a length with the operator, at these numbers."""
    with ranges_of_numbers():
        lowered = irtool.run_passes(module, "FuseOps,LowerTE")
    for number in sorted(numbers):
        try:
            special = with_extent(case, extent, number)
            own = number == extent  # values that a case states are for its own extent
            inputs = inputs_of(case, special) if own else random_inputs(special["main"], 0)
            expected = values_of(special, inputs)
        except irtool.IrError:
            continue  # not for this number
        for want, got in zip(expected, values_of(lowered, inputs), strict=True):
            assert got.shape == want.shape, f"{case.line} of {extent} at {number}"
            rough = 2e-2 if want.dtype.itemsize == 2 else 1e-4
            np.testing.assert_allclose(
                got.astype("float64"),
                want.astype("float64"),
                rough,
                rough,
                err_msg=f"{case.line} of {extent} at {number}",
            )
