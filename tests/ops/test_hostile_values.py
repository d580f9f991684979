"""Every operator that C is made for, on hostile numbers: the C does nothing undefined, and gives what the interpreter gives."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import irtool
from irtool.infer import infer_expr
from irtool.ir import Function, Module, Tuple, Var
from irtool.ir.rewrite import substitute
from irtool.ir.walk import post_order
from irtool.ops import call, operators
from irtool.ops.base import Operator, Pattern
from tests.driver.test_sanitizers import MAIN, SANITIZE, harness
from tests.ops.cases import calls_of_family
from tests.ops.drawing import argument, drawn
from tests.ops.structural_cases import draw_case
from tests.ops.test_compute_and_reference import COMPUTED, is_static, leaves
from tests.ops.test_structural_operators import COMPILED
from tests.pages import Recorder

pytestmark = pytest.mark.promise("NaN and overflow")

SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0)
"""Floats for any operator: sums and products of them do not hang on an order."""
FAR = (1e15, -1e15, 3e38, -3e38, 1e-45, -1e-45, 1e-39, 1.1754943e-38, 2.0**31, -(2.0**31), 2.0**63, 1e308, 65504.0)
"""Floats for operators that do not sum."""
ELEMENTS = (Pattern.ELEMWISE, Pattern.BROADCAST, Pattern.INJECTIVE)

SHAPES = ("vm.reshape_tensor", "sparse_reshape")
"""Operators whose inputs hold shapes: the interpreter refuses those that do not fit."""
SORTED = ("searchsorted",)
APPROXIMATE = ("fast_erf",)
"""An approximation for finite numbers."""
PLACES = ("image.", "nn.upsampling", "vision.roi")
"""Interpolating ones: whether a place falls on a pixel hangs on rounding, and with it what infinity does there."""

Case = tuple[str, list[Any], dict[str, Any]]


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
    rng, found = np.random.default_rng(number), []

    def add(name: str, values: list[Any], attributes: dict[str, Any]) -> None:
        sums = operators.get(name).pattern not in ELEMENTS
        if name not in (*SHAPES, *APPROXIMATE) and not name.startswith(PLACES):
            values = [hostile(v, rng, sums) for v in values]
        if name in SORTED:
            values[0] = np.sort(values[0], -1)
        found.append((name, values, attributes))

    @seed(number)
    @settings(
        max_examples=1, deadline=None, suppress_health_check=list(HealthCheck), phases=["generate"], database=None
    )
    @given(st.data())
    def draw(data: Any) -> None:
        for name in () if found else COMPUTED:
            for _ in range(2):
                add(name, *drawn(data.draw, name))

    draw()
    for name in COMPILED:
        for _ in range(2):
            add(name, *draw_case(name, lambda low, high: rng.integers(low, high + 1)))
    for case in calls_of_family("nn"):
        add(*case)
    return found


def element_cases() -> list[Case]:
    """Every operator of one or two elements that is drawn by its family, on every pair of edges, long enough for vectors."""
    found: list[Case] = []
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
            found.append((name, values, {}))
    return found


def run_under_sanitizers(cases: list[Case], folder: Path, vector: bool) -> list[str]:
    """Builds all calls as one program, runs it, and says where it differs from the interpreter."""
    params: list[Var] = []
    bodies, inputs, kept = [], [], []
    for name, values, attributes in cases:
        e = call(name, *map(argument, values), **attributes)
        if not is_static(infer_expr(e).checked_type):
            continue
        params += [v for v in post_order(e) if isinstance(v, Var)]
        bodies.append(e)
        inputs += leaves(tuple(values))
        with np.errstate(all="ignore"):
            kept.append((name, values, attributes, operators.get(name).make(attributes).evaluate(*values)))
    named = [Var(f"x{i}", p.type_annotation) for i, p in enumerate(params)]
    body = substitute(Tuple(tuple(bodies)), dict(zip(params, named, strict=True)))
    module = irtool.infer_types(Module({"main": Function(tuple(named), body)}))
    made = irtool.build(module, out_dir=folder, name="h", emit="c", weights="inline", vector=vector, opt_level=0)
    writes = "".join(f"  fwrite(a{n}, 1, {t['bytes']}u, stdout);\n" for n, t in enumerate(made.report["outputs"]))
    function = harness("h", made.report).replace("  free(i0);", writes + "  free(i0);", 1)
    (folder / "main.c").write_text(MAIN.format(headers='#include "h.h"', functions=function, calls="  check_h(file);"))
    (folder / "inputs.raw").write_bytes(b"".join(np.ascontiguousarray(x).tobytes() for x in inputs))
    # Sanitizers see what is undefined before anything is optimized, and gcc takes a third of the time.
    command = [
        "cc",
        "-std=c99",
        *SANITIZE,
        "-O0",
        *(["-march=native"] if vector else []),
        "-DIRT_KEEP_DENORMALS",  # which the interpreter keeps, too
        "-o",
        "all",
        "main.c",
        "h.c",
        "-lm",
    ]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[:4000]
    done = subprocess.run(["./all"], cwd=folder, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[:4000]
    place, wrong = 0, []
    for name, values, attributes, want in kept:
        for w in leaves(want):
            got = np.frombuffer(done.stdout[place : place + w.nbytes], w.dtype).reshape(w.shape)
            place += w.nbytes
            if not _agree(got, w):
                wrong.append(f"{name} {attributes} of {values}: {got} is not {w}")
    assert place == len(done.stdout)
    return wrong


def _agree(got: np.ndarray, want: np.ndarray) -> bool:
    """Integers are equal; floats are NaN, infinite or about the same number at the same places."""
    if want.dtype.kind != "f":
        return bool((got == want).all())
    near = 2e-2 if want.dtype.itemsize == 2 else 1e-4
    return bool(np.allclose(got.astype("float64"), want.astype("float64"), rtol=near, atol=near, equal_nan=True))


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
    """C is made of the operator itself, and not for one target only."""
    return cls.compute is not Operator.compute and not cls.vendor and not cls.name.startswith("qnn.")


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
