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

SIZES = (10, 20, 40, 80)
MOST = 1.15
_FEW = 4
"""Calls a node up to which nothing is said of how they grow."""

_TYPES = "the type of each function holds those of all functions inside it, and types are compared as a whole"
_HASHES = "each function inside another has a hash of its own, over all that is inside it"
_LEAVES = "TVM's gradients are made tensor by tensor: what is shared in a tuple is so many tensors"
_SCOPES = "what a function binds is looked for in it anew for each function around it"
_WIDE = "the tensors of a tuple are asked for at each field that is taken out"

STEEPER: dict[tuple[str, str], str] = {
    ("functions_in_functions", "default<O3>"): _HASHES,
    ("functions_in_functions", "LabelOps"): _HASHES,
    ("functions_in_functions", "LambdaLift"): _HASHES,
    ("functions_in_functions", "ManifestLifetimes"): _SCOPES,
    ("functions_in_functions", "PartialEvaluate"): _SCOPES,
    ("functions_in_functions", "PlanDevices"): _TYPES,
    ("functions_in_functions", "ToANormalForm"): _TYPES,
    ("functions_in_functions", "ToCPS"): _TYPES,
    ("functions_in_functions", "UnCPS"): _TYPES,
    ("closures", "build"): _SCOPES,
    ("closures", "Defunctionalization"): _SCOPES,
    ("closures", "DefuseOps"): _SCOPES,
    ("closures", "ManifestLifetimes"): _SCOPES,
    (
        "closures",
        "PartialEvaluate",
    ): "a function is evaluated for its value and for its code, and so is each one inside it",
    ("let_functions", "build"): "local functions are partially evaluated, see below",
    (
        "let_functions",
        "PartialEvaluate",
    ): "a function that is called is evaluated with all that it calls, at each function that calls it",
    **dict.fromkeys(
        [(f"{kind}functions", "PartialEvaluate") for kind in ("", "many_", "untyped_")],
        "each function is evaluated anew with all that it calls",
    ),
    ("shared_tuples", "build"): "C has a buffer for each tensor of a result, and refuses more than a million",
    ("shared_tuples", "FirstOrderGradient"): _LEAVES,
    ("shared_tuples", "LazyGradientInit"): _LEAVES,
    ("deep_tuples", "build"): _WIDE,
    ("wide_tuple", "build"): _WIDE,
    ("wide_tuple", "AnnotateTarget"): _WIDE,
    ("wide_tuple", "FirstOrderGradient"): "the gradient of a field is a tuple with zeros for all others",
}
"""By shape and stage, `*` for any: what grows faster than its input, and why that is so."""


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
def test_work_grows_as_the_input_does(shape):
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
