"""Work grows as the input does: the calls that Python makes are counted, so that no busy machine decides.

`python -m benchmarks growth` measures time and memory of the same stages at full size.
"""

from __future__ import annotations

import cProfile
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.growth import BUILT, SHAPES, chain, exponent, nests, stages, tuples

SIZES = (60, 120, 240)
CASES = [
    (shape, stage)
    for shape in SHAPES
    for stage in ("parse", "infer", "print", "passes", *(["build"] if shape in BUILT else []))
    # A kernel is scheduled at a cost that is quadratic in the (at most 256) operators fused into it; passes over functions in
    # functions, and over tuples that hold others twice, grow faster than their input.
    if (shape, stage) not in ((chain, "build"), (nests, "passes"), (tuples, "passes"))
]


def calls(action: Callable[[], Any]) -> int:
    """How many functions `action` calls, each as often as it does."""
    profile = cProfile.Profile()
    profile.runcall(action)
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.promise("growth")
@pytest.mark.parametrize(("shape", "stage"), CASES, ids=lambda x: getattr(x, "__name__", x))
def test_work_grows_as_the_input_does(shape, stage):
    stages(shape, 10)[stage]()  # what is loaded and noted once
    small, medium, large = (calls(stages(shape, n)[stage]) for n in SIZES)
    # Differences, so that what every run costs does not count.
    assert exponent(SIZES[1:], [medium - small, large - medium]) <= 1.15


def test_an_exponent_is_the_slope_of_the_logarithms():
    assert exponent((10, 100, 1000), [5, 500, 50_000]) == pytest.approx(2)
    assert exponent((10, 100), [3, 30]) == pytest.approx(1)
