"""Arithmetic on dimensions, known and not, and on what index maps make of them."""

from __future__ import annotations

import pytest

import irtool
from irtool.ir.dims import ANY
from irtool.ops.base import RelationError
from irtool.ops.shape.index_map import Interval
from irtool.ops.shapes import equal, floordiv, floormod, mul
from irtool.te import Var

N = Var("n")


def test_products_divide_back() -> None:
    for factor in (2, 3, 12):
        assert equal(floordiv(mul(N, 12), factor), mul(N, 12 // factor))
    assert not equal(floordiv(mul(N, 12), 5), mul(N, 2)), "5 is no factor of 12"
    assert floordiv(7, 2) == 3 and floormod(7, 2) == 1 and floordiv(ANY, 2) is ANY
    assert equal(floordiv(N, 1), N) and floordiv(N, N) == 1


def test_division_by_nothing_is_refused() -> None:
    for operation in (floordiv, floormod):
        with pytest.raises(RelationError, match="divided by 0"):
            operation(N, 0)


def test_intervals_hold_every_result() -> None:
    some = [Interval(a, b) for a in range(-3, 3) for b in range(a, 3)]
    for x in some:
        for y in some:
            for operation in (lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b):
                every = [operation(a, b) for a in range(x.low, x.high + 1) for b in range(y.low, y.high + 1)]
                interval = operation(x, y)
                assert (interval.low, interval.high) == (min(every), max(every))


@pytest.mark.parametrize(
    ("crops", "accepted"),
    [
        ("[[0, 1], [1, 0]]", True),
        ("[[-1, 1], [0, 0]]", False),
        ("[[0, 0], [1, -1]]", False),
        ("[[3, 3], [0, 0]]", False),
    ],
)
def test_crops_lie_within(crops: str, accepted: bool) -> None:
    text = f"""#[version = "0.0.5"]
def @main(%x: Tensor[(4, 3, 3, 1), float32]) {{ nn.batch_to_space_nd(%x, block_shape=[2, 2], crops={crops}) }}
"""
    if accepted:
        irtool.infer_types(irtool.parse(text))
    else:
        with pytest.raises(irtool.IrError):
            irtool.infer_types(irtool.parse(text))


@pytest.mark.parametrize(("a", "b", "batch"), [(1, 0, 0), (0, 1, 0), (1, 3, 3), (3, 1, 3), (0, 0, 0)])
def test_a_batch_of_one_serves_all_of_the_others_even_none(a: int, b: int, batch: int) -> None:
    text = f"""#[version = "0.0.5"]
def @main(%x: Tensor[({a}, 2, 4), float32], %y: Tensor[({b}, 5, 4), float32]) {{ nn.batch_matmul(%x, %y, transpose_b=True) }}
"""
    ret_type = irtool.infer_types(irtool.parse(text))["main"].ret_type
    assert ret_type is not None and ret_type.shape == (batch, 2, 5)
