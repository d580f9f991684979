"""The benchmark of single operators: every row is well-typed, and a measured one has times of both engines."""

from __future__ import annotations

import math

import pytest

from benchmarks.operators import OPERATORS, Row, Single, measure


@pytest.mark.parametrize("single", OPERATORS, ids=lambda s: s.name)
def test_rows_are_typed(single: Single) -> None:
    assert single.module()["main"].body.checked_type is not None


def test_an_operator_is_measured() -> None:
    row = measure(Single("sum", ((8, 64),), "sum(%a, axis=[0])"), seconds=0.0)
    assert 0 < row.compiled < math.inf
    assert 0 < row.interpreter < math.inf
    assert math.isnan(row.torch)


def test_views_are_never_slow() -> None:
    for view in (False, True):
        row = Row(Single("transpose", ((2, 3),), "transpose(%a)", view=view), 2.0, 1.0, math.nan)
        assert row.is_slow != view
        assert ("slower than the interpreter" in str(row)) != view


def test_a_difference_from_torch_is_an_error() -> None:
    single = Single("sum", ((2,),), "sum(%a)")
    assert Row(single, 1.0, 2.0, 1.0, difference=0.1).is_wrong
    assert "differs from torch" in str(Row(single, 1.0, 2.0, 1.0, difference=math.inf))
    assert not Row(single, 1.0, 2.0, 1.0, difference=1e-6).is_wrong
    assert not Row(single, 1.0, 2.0, math.nan).is_wrong
