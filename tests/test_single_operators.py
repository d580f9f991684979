"""The benchmark of single operators: every row is well-typed, and a measured one has times of both engines."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.operators import OPERATORS, Row, Single, measure
from benchmarks.operators.measure import difference_of
from benchmarks.operators.page import page
from benchmarks.operators.single import columns_of_rows, ends_of_rows, places


@pytest.mark.parametrize("single", OPERATORS, ids=lambda s: s.name)
def test_rows_are_typed(single: Single) -> None:
    assert single.module()["main"].body.checked_type is not None


def test_names_and_arguments_are_unambiguous() -> None:
    assert len({s.name for s in OPERATORS}) == len(OPERATORS)
    for single in OPERATORS:
        inputs = single.inputs()
        assert [v.shape for v in inputs] == [*single.shapes]
        assert set(single.values) <= set("abcdef"[: len(inputs)])
        assert all(np.array_equal(a, b) for a, b in zip(inputs, single.inputs(), strict=True))


def test_an_operator_is_measured() -> None:
    row = measure(Single("sum", ((8, 64),), "sum(%a, axis=[0])"), seconds=0.0)
    assert 0 < row.compiled < math.inf
    assert 0 < row.interpreter < math.inf
    assert math.isnan(row.torch)
    assert not row.is_compared


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


def test_differences_are_relative_to_the_largest_element() -> None:
    single = Single("negative", ((2,),), "negative(%a)")
    a, b = np.array([0.0, 100.0]), np.array([1.0, 100.0])
    assert difference_of(single, a, b) == pytest.approx(0.01)
    assert difference_of(single, (a, a), (a, b)) == pytest.approx(0.01)
    assert difference_of(single, a, b[:1]) == math.inf
    assert difference_of(single, np.array([math.nan]), np.array([1.0])) == math.inf
    assert difference_of(single, np.array([math.nan]), np.array([math.nan])) == 0


def test_random_numbers_are_compared_by_their_distribution() -> None:
    rng = np.random.default_rng(0)
    single = Single("random.uniform", (), "", random=True)
    a, b = rng.uniform(size=10000), rng.uniform(size=10000)
    assert difference_of(single, a, b) < 0.05
    assert difference_of(single, a, b * 2) > 0.3


def test_gradients_by_indices_are_left_out() -> None:
    single = Single("gradient of take", (), "", gradient=True)
    floats, indices = np.ones(3), np.zeros(2, "int64")
    assert difference_of(single, (floats, (floats, indices)), (floats, (floats,))) == 0


def test_rows_of_sparse_matrices_have_different_columns() -> None:
    rng = np.random.default_rng(0)
    columns = columns_of_rows(4, 8).draw(rng, (12,)).reshape(3, 4)
    assert (np.diff(columns) > 0).all() and columns.max() < 8
    assert ends_of_rows(4).draw(rng, (4,)).tolist() == [0, 4, 8, 12]
    indices = places(4, 4).draw(rng, (16, 2))
    assert len({(i, j) for i, j in indices.tolist()}) == 16


def test_the_page_has_losses() -> None:
    rows = [Row(OPERATORS[0], 2.0, 9.0, 1.0), Row(OPERATORS[1], 0.5, 9.0, 1.0), Row(OPERATORS[-1], 1.0, 9.0, math.nan)]
    text = page(rows, "a processor")
    assert "2 operators: the geometric mean of irtool's time over torch's is 1.00. 1 take longer" in text
    assert "**2.00**" in text and "**0.50**" not in text
    assert f"| {OPERATORS[-1].name} |" in text and "| none | none |" in text
