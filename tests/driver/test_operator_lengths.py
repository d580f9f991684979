"""C of operators with lengths that only the run knows computes what the interpreter computes, at any length.

Each extent of an operator's cases becomes a length in turn. `range` accepts no formulas meanwhile: it would drop them in silence.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.driver.operator_cases import inputs_of
from irtool.interp.random_inputs import random_inputs
from irtool.ir import TensorType
from irtool.ir.values import value_leaves
from irtool.ops.base import Operator, operators
from irtool.ops.cases import Case
from tests.ops.open_cases import HIGH, lengths_of, ranges_of_numbers, with_extent

MOST = 3
"""Pairs of a case and an extent of each operator."""

REFUSED = {
    "erf": "of integers: a value that is almost 1 becomes 1 or 0",
    "length.cut": "the part may not exceed its operand",
    "length.equal": "its condition says that the extents are equal",
    "length.keep": "elements behind those of its operand are undefined",
    "length.positions": "elements behind the positions are undefined",
    "searchsorted": "rows of drawn numbers are not sorted",
}
"""Operators whose values differ for any shapes, and the reason."""

NAMES = [n for n in operators.names() if operators.get(n).compute is not Operator.compute and n not in REFUSED]


def opened(case: Case, extent: int) -> tuple[irtool.IRModule, dict[str, tuple[Any, ...]]]:
    """The module of a case with `?` for that extent, and the shapes with its bound."""
    text, shapes = case.program, {}
    for p in irtool.parse(text)["main"].params:
        if isinstance(p.type_annotation, TensorType):
            shape = p.type_annotation.shape
            shapes[p.name] = tuple(f"n<={HIGH}" if e == extent else e for e in shape)
            axes = ", ".join("?" if e == extent else str(e) for e in shape)
            text = re.sub(rf"%{p.name}: Tensor\[\([^)]*\)", f"%{p.name}: Tensor[({axes})", text)
    return irtool.parse(text), shapes


@pytest.mark.parametrize("name", NAMES)
def test_c_of_lengths(name: str) -> None:
    for _, (case, extent, _module) in zip(range(MOST), lengths_of(name), strict=False):
        with ranges_of_numbers():
            try:
                program, shapes = opened(case, extent)
                artifact = irtool.build(program, {}, "c{mcpu=x86-64-v3}", shapes=shapes, cache=False)
            except irtool.IrError as error:
                print(f"REFUSED {name}: {case.line} of {extent}: {error}")
                continue
        for number in sorted({1, 2, 5, extent, HIGH}):
            try:
                special = with_extent(case, extent, number)
                own = number == extent  # values that a case states are for its own extent
                inputs = inputs_of(case, special) if own else random_inputs(special["main"], 0)
                expected = irtool.evaluate(special, inputs)
            except irtool.IrError:
                continue  # not for this number
            got = artifact.run(inputs)
            for want, result in zip(value_leaves(expected), value_leaves(got), strict=True):
                want, result = np.asarray(want), np.asarray(result)
                assert result.shape == want.shape, f"{case.line} of {extent} at {number}"
                rough = 2e-2 if want.dtype.itemsize == 2 else 1e-4
                np.testing.assert_allclose(
                    result.astype("float64"),
                    want.astype("float64"),
                    rough,
                    rough,
                    err_msg=f"{case.line} of {extent} at {number}",
                )
