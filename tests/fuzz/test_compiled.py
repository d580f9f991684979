"""Random modules and calls compiled to C give what the interpreter gives; and the fuzzer notices when they do not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.ops import operators
from irtool.passes.core.bind import bind_params
from tests.fuzz import harness
from tests.fuzz.compiled import (
    Compiled,
    build_program,
    compare,
    draw_program,
    hostile,
    is_rearranged,
    is_sensitive,
    run_compiled,
    run_compiled_programs,
    write_compiled,
)
from tests.fuzz.harness import Program, ToolError
from tests.fuzz.programs import polymorphic_program_text
from tests.fuzz.values import drawn_call, run_values, write_value
from tests.pages import Recorder

MODULES, CALLS, PROGRAMS, POLYMORPHIC = 30, 90, 90, 40
"""In a minute of the processor; `make fuzz` draws any number."""

pytestmark = pytest.mark.promise("compiled")


@pytest.mark.robustness("compiled modules")
@pytest.mark.parametrize("part", range(3))
def test_modules(part: int, record_property: Recorder) -> None:
    size = MODULES // 3
    record_property("inputs", size)
    outcomes = [*run_compiled(range(part * size, (part + 1) * size))]
    assert [o for o in outcomes if o.kind == "failed"] == []
    kinds = Counter(o.kind for o in outcomes)
    assert kinds["agreed"] > size // 2, "too few are compared to show anything"


@pytest.mark.robustness("compiled calls")
@pytest.mark.parametrize("part", range(3))
def test_calls(part: int, record_property: Recorder) -> None:
    size = CALLS // 3
    record_property("inputs", size)
    outcomes = [*run_values(range(part * size, (part + 1) * size))]
    assert [(drawn_call(o.seed).operator, o) for o in outcomes if o.kind == "failed"] == []
    kinds = Counter(o.kind for o in outcomes)
    assert kinds["agreed"] > size // 4, "too few are compared to show anything"


@pytest.mark.robustness("compiled programs")
@pytest.mark.parametrize("part", range(3))
def test_higher_order_programs(part: int, record_property: Recorder) -> None:
    size = PROGRAMS // 3
    record_property("inputs", size)
    outcomes = [*run_compiled_programs(range(part * size, (part + 1) * size))]
    assert [o for o in outcomes if o.kind == "failed"] == []
    kinds = Counter(o.kind for o in outcomes)
    assert kinds["agreed"] > size // 2, "too few are compared to show anything"


@pytest.mark.robustness("compiled polymorphic")
@pytest.mark.parametrize("part", range(2))
def test_programs_with_polymorphic_values(part: int, record_property: Recorder) -> None:
    size = POLYMORPHIC // 2
    record_property("inputs", size)
    seeds = range(part * size, (part + 1) * size)
    outcomes = [*run_compiled_programs(seeds, polymorphic_program_text)]
    assert [o for o in outcomes if o.kind == "failed"] == []
    kinds = Counter(o.kind for o in outcomes)
    assert kinds["agreed"] > size * 2 // 3, "too few are compared to show anything"


def program(text: str, name: str = "m0") -> Program:
    module = irtool.infer_types(irtool.parse(text))
    inputs = [np.arange(4, dtype="float32")]
    return Program(name, module, inputs, irtool.evaluate(module, inputs), {"opt_level": 0})


def test_a_difference_is_noticed_and_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A wrong reference of one operator, in a batch with a module that is right."""
    right = program("def @main(%x: Tensor[(4), float32]) { exp(%x) }", "m1")
    cls = operators.get("tanh")
    monkeypatch.setattr(cls, "evaluate", lambda self, x: np.cos(x))
    wrong = program("def @main(%x: Tensor[(4), float32]) { tanh(%x) }", "m2")
    monkeypatch.undo()
    outcomes = compare({1: right.built(tmp_path), 2: wrong.built(tmp_path)}, tmp_path)
    assert {s: o.kind for s, o in outcomes.items()} == {1: "agreed", 2: "sensitive"} or outcomes[2].kind == "failed"
    assert "differs by up to" in outcomes[2].message


def test_what_a_build_rearranges_is_no_failure() -> None:
    """A build composes two layers: infinities of both signs, which meet behind the first, do not meet any more."""
    text = """def @main(%x: Tensor[(1, 1, 2, 2), float32], %a: Tensor[(4, 1, 1, 1), float32], %b: Tensor[(1, 4, 1, 1), float32]) {
      %0 = nn.conv2d(%x, %a, channels=4, kernel_size=[1, 1]);
      nn.conv2d(%0, %b, channels=1, kernel_size=[1, 1])
    }"""
    weights = {"a": np.array([1, -1, 1, 1], "float32").reshape(4, 1, 1, 1), "b": np.ones((1, 4, 1, 1), "float32")}
    module = irtool.infer_types(bind_params(irtool.parse(text), weights))
    inputs = [np.array([[[[np.inf, 1], [2, 3]]]], "float32")]
    with np.errstate(all="ignore"):
        want = irtool.evaluate(module, inputs)
    assert is_rearranged(Program("m0", module, inputs, want, {"opt_level": 3}))
    assert not is_rearranged(Program("m0", module, inputs, want, {"opt_level": 1}))


def test_sums_of_large_integers_in_floats_are_sensitive() -> None:
    def of(numbers: list[int], dtype: str) -> Program:
        text = f'def @main(%x: Tensor[(1, 2), int32], %w: Tensor[(1, 2), int32]) {{ nn.dense(%x, %w, units=1, out_dtype="{dtype}") }}'
        module = irtool.infer_types(irtool.parse(text))
        inputs = [np.array([numbers], "int32"), np.array([[1, -1]], "int32")]
        return Program("m0", module, inputs, irtool.evaluate(module, inputs))

    assert is_sensitive(of([2**31 - 1, 2**31 - 100], "float32"))
    assert not is_sensitive(of([2**31 - 1, 2**31 - 100], "int64"))
    assert not is_sensitive(of([7, 3], "float32"))


def test_what_dies_is_found_among_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    original = harness._tool

    def dies(command: list[str], folder: Path) -> None:
        if "m2.c" in command:
            raise ToolError("cc ends with 1: no")
        original(command, folder)

    monkeypatch.setattr(harness, "_tool", dies)
    text = "def @main(%x: Tensor[(4), float32]) { exp(%x) }"
    programs = {n: program(text, f"m{n}").built(tmp_path) for n in (1, 2, 3)}
    kinds = {s: o.kind for s, o in compare(programs, tmp_path).items()}
    assert kinds == {1: "agreed", 2: "failed", 3: "agreed"}


def test_refusals_have_a_place_or_fail(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    refused = program("def @main(%x: Tensor[(4), float32]) { exp(%x) }")

    def crashes(*_: object, **__: object) -> None:
        raise KeyError("oh")

    monkeypatch.setattr(irtool, "build", crashes)
    outcome = build_program(7, refused, tmp_path)
    assert isinstance(outcome, Compiled)
    assert outcome.kind == "failed"
    assert "KeyError" in outcome.message


def test_failures_are_written(tmp_path: Path) -> None:
    drawn = next(p for s in range(20) if isinstance(p := draw_program(s), Program))
    path = write_compiled(Compiled(int(drawn.name[1:]), "failed", "differs", ("opt_level=2", "vector=False")), tmp_path)
    head = path.read_text()
    assert "irtool run -O2 --compare interp,'c{vector=False}'" in head
    assert irtool.infer_types(irtool.parse(head))
    assert path.with_suffix(".npz").name in head
    path = write_value(Compiled(3, "failed", "differs", ()), tmp_path)
    assert drawn_call(3).operator in path.read_text()


def test_seeds_decide() -> None:
    import random

    x = np.ones(40, "float32")
    a, b = (hostile(x, random.Random(2)) for _ in range(2))
    np.testing.assert_array_equal(a, b)
    assert drawn_call(5) == drawn_call(5)
    first, second = (draw_program(4) for _ in range(2))
    assert isinstance(first, Program)
    assert isinstance(second, Program)
    assert irtool.to_text(first.module) == irtool.to_text(second.module)
    assert first.options == second.options
