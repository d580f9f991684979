"""Work grows as the input does: the calls that Python makes are counted, so that no busy machine decides.

Every pass of the registry runs on every shape of module in `benchmarks/shapes.py`; `python -m benchmarks growth` measures
time and memory of the same stages at full size.
"""

from __future__ import annotations

import cProfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from benchmarks import shapes
from benchmarks.growth import exponent, measure, work_of
from benchmarks.shapes import SHAPES
from irtool.diagnostics import IrError
from irtool.ir import Expr, Function, Module, Var, post_order
from irtool.tir.program import Slot
from irtool.tir.stmt import Buffer
from tests.steep import LARGER, STEEPER

SIZES = (10, 20, 40, 80)
MOST = 1.15
_FEW = 4
"""Calls a node up to which nothing is said of how they grow."""


@dataclass(frozen=True)
class Work:
    """How many functions were called, each as often as it was; how many nodes were looked at while one was searched for in a
    tuple or a list; and of how many nodes the module is that came out."""

    calls: int
    looks: int
    size: int


def work(action: Callable[[], Any]) -> Work:
    """What `action` does."""
    profile = cProfile.Profile()
    with pytest.MonkeyPatch.context() as patch:
        for kind in (Expr, Buffer, Slot):
            patch.setattr(kind, "__eq__", _is_same)
        result = profile.runcall(action)
    bodies = [f for f in result.functions.values() if isinstance(f, Function)] if isinstance(result, Module) else []
    done = profile.getstats()
    looks = sum(entry.callcount for entry in done if entry.code is _is_same.__code__)
    return Work(sum(entry.callcount for entry in done) - looks, looks, len(post_order(*bodies)))


def _is_same(a: object, b: object) -> bool:
    """What Python says of nodes anyway, as a function that is counted."""
    return a is b


def growth(counts: list[int], sizes: Sequence[int] = SIZES) -> float:
    """The exponent between the last two sizes, of what is added to what every run costs; 0 where doubling the input does not
    double the work, or where there is next to none."""
    before, last = (max(b - a, 1) for a, b in list(pairwise(counts))[-2:])
    if last < _FEW * SIZES[-1] or counts[-1] <= 2 * counts[-2]:
        return 0.0
    return exponent(sizes[-2:], [before, last])


def _added(sizes: list[int]) -> list[int]:
    """What each size has more than the one before it, to set against the work that is more."""
    return [max(b - a, 1) for a, b in pairwise(sizes)]


def _explodes(counts: list[int]) -> bool:
    """Whether one doubling of the input made several times as much work, and much of it."""
    return any(b > 6 * a and b > 20_000 for a, b in pairwise(counts))


def excuse(shape: str, stage: str) -> str | None:
    """Why a stage may grow faster over a shape."""
    return STEEPER.get((shape, stage)) or STEEPER.get((shape, "*")) or STEEPER.get(("*", stage))


@pytest.mark.promise("growth")
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: s.__name__)
def test_work_grows_as_the_input_does(shape, record_property):
    counts: dict[str, list[Work]] = {}
    refused: set[str] = set()
    for n in (4, *SIZES):
        for stage, ready in work_of(shape, n).items():
            larger = (shape.__name__, stage) in LARGER
            if stage in refused or excuse(shape.__name__, stage) or (larger and n == SIZES[-1]):
                continue
            try:
                action = ready()
                if n == 4:
                    action()  # what is loaded and noted once
                else:
                    so_far = counts.setdefault(stage, [])
                    if not _explodes([w.calls for w in so_far]):  # the next size might never be done
                        so_far.append(work(action))
            except IrError as error:
                assert error.exit_code == 1, f"{stage}: {error}"
                refused.add(stage)
    exponents: dict[str, float] = {}
    for stage, works in sorted(counts.items()):
        if stage not in refused and len(works) > 2:
            is_larger = (shape.__name__, stage) in LARGER
            sizes = _added([w.size for w in works]) if is_larger else SIZES
            exponents[stage] = max(growth([w.calls for w in works], sizes), growth([w.looks for w in works], sizes))
            record_property("exponent", (shape.__name__, stage, round(exponents[stage], 2)))
    assert not {s: (e, counts[s]) for s, e in exponents.items() if e > MOST or _explodes([w.calls for w in counts[s]])}


def test_an_exponent_is_the_slope_of_the_logarithms():
    assert exponent((10, 100, 1000), [5, 500, 50_000]) == pytest.approx(2)
    assert exponent((10, 100), [3, 30]) == pytest.approx(1)


@pytest.mark.parametrize(("shape", "stage"), LARGER, ids=lambda x: x)
def test_what_is_measured_by_its_result_has_a_larger_one(shape, stage):
    def size(n: int) -> int:
        return work(work_of(getattr(shapes, shape), n)[stage]()).size

    assert size(40) > 2.5 * size(20)


def test_what_grows_faster_is_seen():
    def quadratic(n: int) -> None:
        for _ in range(n * n):
            len("")

    assert growth([work(lambda n=n: quadratic(n)).calls for n in SIZES]) == pytest.approx(2, abs=0.05)


def test_searches_are_seen():
    def searching(n: int) -> None:
        nodes = [Var(str(k)) for k in range(n)]
        assert all(v in nodes for v in nodes)

    works = [work(lambda n=n: searching(n)) for n in SIZES]
    assert growth([w.calls for w in works]) <= MOST
    assert growth([w.looks for w in works]) == pytest.approx(2, abs=0.05)


def test_what_would_never_end_is_stopped_and_said_to_be(monkeypatch):
    def endless() -> None:
        while True:
            pass

    work = {"short": lambda: lambda: None, "endless": lambda: endless}
    monkeypatch.setattr("benchmarks.growth.work_of", lambda shape, size: work)
    short, stopped = measure(shapes.chain, (10, 20), [], patience=0.02, budget=5)
    assert short["sizes"] == [10, 20] and not short["left_out"]
    assert stopped["sizes"] == []
    assert stopped["left_out"] == {10: "stopped after 0 s", 20: "a smaller size was left out"}
