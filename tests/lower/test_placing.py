"""Where tensors are placed in memory: none over another that lives at the same time, and in as little as there must be."""

from __future__ import annotations

import random

import pytest

from irtool.lower.placing import Interval, _sweep, align, place


def intervals(*parts: tuple[int, int, int]) -> list[Interval]:
    return [Interval(size, first, last) for size, first, last in parts]


def apart(items: list[Interval]) -> bool:
    return all(
        a.last < b.first or b.last < a.first or a.offset + a.size <= b.offset or b.offset + b.size <= a.offset
        for n, a in enumerate(items)
        for b in items[:n]
    )


def most_alive(items: list[Interval]) -> int:
    return max(sum(i.size for i in items if i.first <= t <= i.last) for t in range(max(i.last for i in items) + 1))


@pytest.mark.parametrize("sweep", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_what_lives_together_lies_apart(seed: int, sweep: bool) -> None:
    draw = random.Random(seed)
    items = []
    for _ in range(draw.randint(1, 25)):
        first = draw.randint(0, 12)
        items.append(Interval(64 * draw.randint(1, 6), first, first + draw.randint(0, 5)))
    total, lower = (_sweep(items), most_alive(items)) if sweep else place(items)
    assert apart(items) and min(i.offset for i in items) == 0
    assert lower == most_alive(items) <= total == max(i.offset + i.size for i in items)
    assert total <= sum(i.size for i in items)


@pytest.mark.parametrize(
    "parts",
    [
        [(4, 0, 1), (4, 0, 2), (4, 0, 9), (8, 3, 4)],
        [(4, 0, 2), (4, 0, 1), (4, 0, 9), (8, 3, 4)],
        [(4, 0, 1), (4, 0, 2), (4, 0, 1), (4, 0, 9), (12, 3, 4)],
        [(4, 0, 1), (4, 0, 9), (2, 2, 3), (2, 2, 3)],
    ],
)
def test_neighbouring_gaps_are_one(parts: list[tuple[int, int, int]]) -> None:
    items = intervals(*parts)
    assert _sweep(items) == most_alive(items) and apart(items)


def test_the_last_gap_grows() -> None:
    items = intervals((4, 0, 9), (4, 0, 1), (6, 2, 3))
    assert _sweep(items) == 10 and items[2].offset == 4


def test_alignment() -> None:
    step = align(1)
    assert [align(n) for n in (0, 1, step - 1, step, step + 1)] == [0, step, step, step, 2 * step]
