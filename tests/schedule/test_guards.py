"""Conditions on what a reduction reads: those are left that some step breaks."""

from __future__ import annotations

import pytest

import irtool
from irtool.driver.prepare import prepare
from irtool.lower import lower_module
from irtool.schedule.core.block import Block
from irtool.schedule.core.guards import extract_predicates
from irtool.schedule.core.nest import open_guards
from irtool.schedule.primitives.loop_partition import loop_partition
from irtool.tir.forms import Reduction


def windows() -> Block[Reduction]:
    """The largest of three rows out of eight, with one more row above and below: of row `y` those from `y - 1` to `y + 1`."""
    text = "def @main(%x: Tensor[(1, 1, 8, 5), float32]) { nn.max_pool2d(%x, pool_size=[3, 1], padding=[1, 0, 1, 0]) }"
    (kernel,) = lower_module(prepare(irtool.parse(f'#[version = "0.0.5"]\n{text}\n'))).kernels
    return Block.of(extract_predicates(next(f for f in kernel.stages if isinstance(f, Reduction))))


@pytest.mark.parametrize(
    ("rows", "broken"),
    [((0, 8), 2), ((0, 7), 1), ((1, 8), 1), ((1, 7), 0), ((0, 1), 1), ((7, 8), 1), ((2, 6), 0)],
    ids=str,
)
def test_a_condition_is_left_where_a_row_has_one_more_above_or_below(rows: tuple[int, int], broken: int) -> None:
    whole = windows()
    (loop,) = (v for v, extent in whole.loops if extent == 8)
    (part,) = loop_partition(whole, loop, [rows])
    assert len(open_guards(part)) == broken
