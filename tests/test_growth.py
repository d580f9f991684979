"""Work grows as the input does: the calls that Python makes are counted, so that no busy machine decides.

Every pass of the registry runs on every shape of module in `benchmarks/shapes.py`; `python -m benchmarks growth` measures
time and memory of the same stages at full size.
"""

from __future__ import annotations

import cProfile
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from benchmarks.growth import exponent, work_of
from benchmarks.shapes import SHAPES
from irtool.diagnostics import IrError
from tests.steep import STEEPER

SIZES = (10, 20, 40, 80)
MOST = 1.15
_FEW = 4
"""Calls a node up to which nothing is said of how they grow."""


def calls(action: Callable[[], Any]) -> int:
    """How many functions `action` calls, each as often as it does."""
    profile = cProfile.Profile()
    profile.runcall(action)
    return sum(entry.callcount for entry in profile.getstats())


def growth(counts: list[int]) -> float:
    """The exponent between the last two sizes, of what is added to what every run costs; 0 where doubling the input does not
    double the work, or where there is next to none."""
    before, last = (max(b - a, 1) for a, b in list(pairwise(counts))[-2:])
    if last < _FEW * SIZES[-1] or counts[-1] <= 2 * counts[-2]:
        return 0.0
    return exponent(SIZES[-2:], [before, last])


def _explodes(counts: list[int]) -> bool:
    """Whether one doubling of the input made several times as much work, and much of it."""
    return any(b > 6 * a and b > 20_000 for a, b in pairwise(counts))


def excuse(shape: str, stage: str) -> str | None:
    """Why a stage may grow faster over a shape."""
    return STEEPER.get((shape, stage)) or STEEPER.get((shape, "*")) or STEEPER.get(("*", stage))


@pytest.mark.promise("growth")
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: s.__name__)
def test_work_grows_as_the_input_does(shape, record_property):
    counts: dict[str, list[int]] = {}
    refused: set[str] = set()
    for n in (4, *SIZES):
        for stage, ready in work_of(shape, n).items():
            if stage in refused or excuse(shape.__name__, stage):
                continue
            try:
                action = ready()
                if n == 4:
                    action()  # what is loaded and noted once
                else:
                    so_far = counts.setdefault(stage, [])
                    if not _explodes(so_far):  # the next size might never be done
                        so_far.append(calls(action))
            except IrError as error:
                assert error.exit_code == 1, f"{stage}: {error}"
                refused.add(stage)
    measured = {s: c for s, c in counts.items() if s not in refused and len(c) > 2}
    for stage, found in sorted(measured.items()):
        record_property("exponent", (shape.__name__, stage, round(growth(found), 2)))
    steep = {s: (growth(c), c) for s, c in measured.items() if _explodes(c) or growth(c) > MOST}
    assert not steep


def test_an_exponent_is_the_slope_of_the_logarithms():
    assert exponent((10, 100, 1000), [5, 500, 50_000]) == pytest.approx(2)
    assert exponent((10, 100), [3, 30]) == pytest.approx(1)


def test_what_grows_faster_is_seen():
    def quadratic(n: int) -> None:
        for _ in range(n * n):
            len("")

    assert growth([calls(lambda n=n: quadratic(n)) for n in SIZES]) == pytest.approx(2, abs=0.05)
