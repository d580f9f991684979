"""Every operator that C is made for, on hostile numbers: the C does nothing undefined, and gives what the interpreter gives."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import irtool
from irtool.infer import infer_expr
from irtool.ops import call, operators
from irtool.ops.base import Operator, Pattern
from tests.ops.cases import calls_of_family
from tests.ops.computed import COMPUTED
from tests.ops.drawing import argument, drawn
from tests.ops.hostile import APPROXIMATE, PLACES, SHAPES, SORTED, Case, run_under_sanitizers
from tests.ops.structural_cases import COMPILED, draw_case
from tests.pages import Recorder

pytestmark = pytest.mark.promise("NaN and overflow")

SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0)
"""Floats for any operator: sums and products of them do not hang on an order."""
FAR = (1e15, -1e15, 3e38, -3e38, 1e-45, -1e-45, 1e-39, 1.1754943e-38, 2.0**31, -(2.0**31), 2.0**63, 1e308, 65504.0)
"""Floats for operators that do not sum."""
ELEMENTS = (Pattern.ELEMWISE, Pattern.BROADCAST, Pattern.INJECTIVE)


def hostile(value: Any, rng: np.random.Generator, sums: bool) -> Any:
    """The value with some of its numbers replaced by hostile ones of its dtype; tuples field by field."""
    if isinstance(value, tuple):
        return tuple(hostile(v, rng, sums) for v in value)
    x = np.array(value)
    if x.dtype.kind == "b" or not x.size:
        return x
    if x.dtype.kind == "f":
        with np.errstate(over="ignore"):
            pool = np.array(SPECIAL if sums else (*SPECIAL, *FAR)).astype(x.dtype)
    else:
        ends = np.iinfo(x.dtype)
        pool = np.array((ends.min, ends.max, ends.min + 1, ends.max - 1, ends.max // 2 + 1, 0), x.dtype)
    count = max(1, int(x.size * rng.choice((0.02, 0.2, 0.6))))
    x.reshape(-1)[rng.choice(x.size, count, replace=False)] = rng.choice(pool, count)
    return x


def hostile_cases(number: int) -> list[Case]:
    """Two calls of each operator or more, with hostile numbers; the same for the same number."""
    rng, cases = np.random.default_rng(number), []

    def add(name: str, values: list[Any], attributes: dict[str, Any]) -> None:
        sums = operators.get(name).pattern not in ELEMENTS
        if name not in (*SHAPES, *APPROXIMATE) and not name.startswith(PLACES):
            values = [hostile(v, rng, sums) for v in values]
        if name in SORTED:
            values[0] = np.sort(values[0], -1)
        cases.append((name, values, attributes))

    @seed(number)
    @settings(
        max_examples=1, deadline=None, suppress_health_check=list(HealthCheck), phases=["generate"], database=None
    )
    @given(st.data())
    def draw(data: Any) -> None:
        for name in () if cases else COMPUTED:
            for _ in range(2):
                add(name, *drawn(data.draw, name))

    draw()
    for name in COMPILED:
        for _ in range(2):
            add(name, *draw_case(name, lambda low, high: rng.integers(low, high + 1)))
    for case in calls_of_family("nn"):
        add(*case)
    return cases


def element_cases() -> list[Case]:
    """Every operator of one or two elements that is drawn by its family, on every pair of edges, long enough for vectors."""
    cases: list[Case] = []
    for name in COMPUTED:
        cls = operators.get(name)
        if cls.__module__ not in ("irtool.ops.unary", "irtool.ops.binary") or name in APPROXIMATE:
            continue
        whole = ("int8", "uint16", "int32", "int64", "uint64") if cls.__module__.endswith("binary") else ()
        for dtype in ("float32", "float64", "float16", *whole):
            kind = np.dtype(dtype).kind
            ends = None if kind == "f" else np.iinfo(dtype)
            edges = (
                (*SPECIAL, *FAR)
                if ends is None
                else (ends.min, ends.min + 1, ends.max - 1, ends.max, 0, 1, 2, 3, 7, 31, 64)
            )
            with np.errstate(over="ignore"):
                x = np.array(edges).astype(dtype) if ends is None else np.array(edges, dtype)
            a, b = (np.ascontiguousarray(v.ravel()) for v in np.meshgrid(x, x))
            values = [a, b] if cls.__module__.endswith("binary") else [np.resize(x, 48)]
            try:
                infer_expr(call(name, *map(argument, values)))
                cls.make({}).evaluate(*values)
            except irtool.IrError:
                continue  # has no meaning on this dtype
            cases.append((name, values, {}))
    return cases


NUMBERS = [int(n) for n in os.environ.get("HOSTILE_SEEDS", "1").split(",")]
"""Seeds of the drawn calls; `HOSTILE_SEEDS=1,2,3 pytest tests/ops/test_hostile_values.py` runs more of them."""


@pytest.mark.robustness("numbers")
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("vector", [True, False], ids=["vector", "scalar"])
def test_every_operator(vector: bool, number: int, tmp_path: Path, record_property: Recorder) -> None:
    cases = hostile_cases(2 * number + vector)
    record_property("inputs", len(cases))
    assert {c[0] for c in cases} >= {o.name for o in operators if _is_plain(o)}
    assert run_under_sanitizers(cases, tmp_path, vector) == []


def _is_plain(cls: type[Operator]) -> bool:
    """C is made of the operator itself, and not for one target only; operators of lengths stand behind checks of their operands."""
    return cls.compute is not Operator.compute and not cls.vendor and not cls.name.startswith(("qnn.", "length."))


@pytest.mark.robustness("numbers")
def test_every_pair_of_edges_in_vectors(tmp_path: Path, record_property: Recorder) -> None:
    cases = element_cases()
    record_property("inputs", len(cases))
    assert len(cases) > 200
    assert run_under_sanitizers(cases, tmp_path, vector=True) == []


def test_a_difference_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cls = operators.get("tanh")
    original: Callable[..., Any] = cls.evaluate
    monkeypatch.setattr(cls, "evaluate", lambda self, x: np.where(np.isnan(x), 0, original(self, x)).astype(x.dtype))
    (wrong,) = run_under_sanitizers([("tanh", [np.array([1, np.nan], "float32")], {})], tmp_path, True)
    assert wrong.startswith("tanh")
