"""The order of the squares of a transpose: by where rows lie in the nearest cache, and how far the operand is."""

import pytest

from irtool.schedule.strategies.transpose.transpose_order import Moved, choose_order, lines_at_one_place, widths
from irtool.schedule.strategies.transpose.transpose_tiles import Squares, in_groups, in_strips, squares_of
from irtool.tir.vector_target import VectorTarget

WIDE, NARROW = VectorTarget(64, 32), VectorTarget(32, 16)


def order_of(rows: int, columns: int, size: int, target: VectorTarget = WIDE):
    """The order for a matrix of so many rows and columns."""
    side = target.vector_bytes // size
    return choose_order(Moved(size, rows * columns * size, rows * size, columns * size), side, target)


@pytest.mark.parametrize(
    "stride, count, lines", [(4096, 16, 16), (1024, 16, 4), (196, 64, 1), (12544, 16, 1), (0, 16, 1)]
)
def test_lines_a_power_of_two_apart_share_places(stride: int, count: int, lines: float) -> None:
    assert lines_at_one_place(stride, count, WIDE) == lines


def test_crowded_rows_are_written_line_after_line() -> None:
    assert order_of(256, 196, 4).is_along_written
    assert not order_of(196, 768, 4).is_along_written


def test_a_far_operand_is_read_line_after_line() -> None:
    near, far = order_of(1024, 1024, 4), order_of(4096, 4096, 4)
    assert near.is_along_written and not far.is_along_written and far.strip > near.strip


def test_squares_are_narrow_where_the_operand_stays() -> None:
    assert order_of(512, 49, 4).columns == 4 and order_of(512, 512, 4).columns == 16
    assert order_of(300, 60, 1).columns == 16 and order_of(256, 256, 1).columns == 64


def test_squares_of_half_a_line_are_made_in_twos() -> None:
    assert order_of(1000, 1000, 4, NARROW).group == 2 and order_of(1000, 1000, 4).group == 1


def test_widths() -> None:
    assert (widths(16, 4), widths(8, 8), widths(64, 1), widths(8, 4), widths(4, 4)) == (
        [16, 8, 4],
        [8, 4, 2],
        [64, 16],
        [8, 4],
        [4],
    )


def test_an_axis_in_squares() -> None:
    assert squares_of(50, [8], overlap=True) == [Squares(0, 6, 8, 6), Squares(42, 1, 8, 1)]
    assert squares_of(50, [16, 4], overlap=True)[-1] == Squares(46, 1, 4, 1)
    assert [p.size for p in squares_of(50, [8], overlap=False)] == [8, 1]


def test_groups_and_strips_leave_parts_of_their_own() -> None:
    assert in_groups([Squares(0, 7, 8, 7)], 2) == [Squares(0, 6, 8, 6, 2), Squares(48, 1, 8, 1)]
    assert in_strips([Squares(0, 6, 8, 6)], 32) == [Squares(0, 6, 8, 3)]
    assert in_strips([Squares(0, 11, 8, 11)], 32) == [Squares(0, 8, 8, 4), Squares(64, 3, 8, 3)]
