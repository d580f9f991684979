"""Partial evaluation is bounded: what takes too many steps is left to the program, which computes the same."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.ir import Call, Function, GlobalVar, Module, post_order
from irtool.passes.partial import fuel
from irtool.passes.partial.summaries import Summaries
from tests.fuzz.programs import program_module
from tests.fuzz.trial import try_passes

HEAD = '#[version = "0.0.5"]\n'
LOOP = """
def @count(%k: int32, %x: float32) -> float32 {
  if (less(%k, 1)) { %x } else { @count(subtract(%k, 1), add(%x, 1f)) }
}
"""
DEEP = 14


def _read(text: str) -> Module:
    return irtool.infer_types(irtool.parse(HEAD + text))


def _evaluated(module: Module, after: str = ",DeadCodeElimination") -> Module:
    return irtool.run_passes(module, "ToANormalForm,PartialEvaluate" + after)


def _calls(f: object) -> list[str]:
    assert isinstance(f, Function)
    return [e.op.name for e in post_order(f.body) if isinstance(e, Call) and isinstance(e.op, GlobalVar)]


def test_a_short_loop_is_unrolled_and_a_long_one_left():
    short, long = (
        _evaluated(_read(f"{LOOP}def @main(%x: float32) {{ @count({n}, %x) }}")) for n in (20, 1_000_000_000)
    )
    assert _calls(short["main"]) == []
    assert _calls(long["main"]) == ["count"]
    assert len(post_order(long["main"])) < 20, "nothing is left of what was evaluated in vain"


def test_what_is_left_computes_the_same(monkeypatch):
    module = _read(f"{LOOP}def @main(%x: float32) {{ add(@count(300, %x), @count(3, %x)) }}")
    monkeypatch.setattr(fuel, "STEPS", 2000)
    evaluated = _evaluated(module)
    assert _calls(evaluated["main"]) == ["count"], "the short loop is unrolled all the same"
    x = np.float32(0.5)
    assert irtool.evaluate(evaluated, [x]) == irtool.evaluate(module, [x])


def test_what_was_written_in_vain_is_not_remembered(monkeypatch):
    module = _read("""
def @write(%k: int32, %r: ref(float32), %x: float32) -> () {
  let %u = ref_write(%r, add(%x, 1f));
  if (less(%k, 1)) { %u } else { @write(subtract(%k, 1), %r, add(%x, 1f)) }
}
def @main(%x: float32) {
  let %r = ref(%x);
  let %u = @write(300, %r, %x);
  ref_read(%r)
}
""")
    monkeypatch.setattr(fuel, "STEPS", 2000)
    evaluated = _evaluated(module)
    assert _calls(evaluated["main"]) == ["write"]
    assert irtool.evaluate(evaluated, [np.float32(1)]) == np.float32(302)


@pytest.mark.parametrize("seed", [3, 29, 129])
def test_continuations_in_continuations_end(seed):
    """Each is evaluated for its code and for its value, and so each inside of it: 2^n bodies."""
    module = program_module(seed)
    assert module is not None
    outcome = try_passes(module, ("ToANormalForm", "ToCPS", "ToANormalForm", "PartialEvaluate"), seed)
    assert outcome.kind in ("kept", "typed"), outcome


def _chain(head: str, call: str, last: str, main: str) -> Module:
    defs = "".join(f"def @f{i}{head} {{ {call.format(i + 1)} }}\n" for i in range(DEEP))
    return _read(f"{defs}def @f{DEEP}{head} {{ {last} }}\n{main}")


@pytest.fixture
def summarized(monkeypatch) -> list[bool]:
    """Whether each call that was asked for had a summary."""
    asked: list[bool] = []
    original = Summaries.fitting

    def fitting(self, number, arguments):
        summary = original(self, number, arguments)
        asked.append(summary is not None)
        return summary

    monkeypatch.setattr(Summaries, "fitting", fitting)
    return asked


def test_a_summary_forgets_what_references_held(summarized):
    module = _chain(
        "(%r: ref(float32), %x: float32) -> ()",
        "@f{}(%r, %x)",
        "ref_write(%r, add(%x, 1f))",
        """def @main(%x: float32, %c: bool) {
  let %r = ref(%x);
  let %s = ref(multiply(%x, 2f));
  let %q = if (%c) { %r } else { %s };
  let %u = @f0(%q, %x);
  (ref_read(%r), ref_read(%s))
}""",
    )
    evaluated = _evaluated(module)
    assert any(summarized) and _calls(evaluated["main"]) == []
    for c in (True, False):
        inputs = [np.float32(3), np.bool_(c)]
        assert irtool.evaluate(evaluated, inputs) == irtool.evaluate(module, inputs) == ((4, 6) if c else (3, 4))


def test_a_summary_gives_back_its_arguments_and_what_is_known(summarized):
    module = _chain(
        "[A, B](%x: A, %g: fn (A) -> B) -> (A, B, float32)",
        "@f{}(%x, %g)",
        "(%x, %g(%x), 2f)",
        """def @main(%x: float32, %c: bool) {
  let %g = if (%c) { fn (%y: float32) -> float32 { exp(%y) } } else { fn (%y: float32) -> float32 { negative(%y) } };
  let %p = @f0(%x, %g);
  (%p.0, %p.1, add(%p.2, 1f))
}""",
    )
    evaluated = _evaluated(module)
    assert any(summarized) and _calls(evaluated["main"]) == []
    text = irtool.to_text(evaluated["main"])
    assert "3f" in text and "add" not in text, "the constant is known through the summary"
    for c in (True, False):
        inputs = [np.float32(3), np.bool_(c)]
        assert irtool.evaluate(evaluated, inputs) == irtool.evaluate(module, inputs)


def test_a_function_that_makes_closures_or_references_has_no_summary(summarized):
    module = _chain(
        "(%x: float32) -> (ref(float32), fn (float32) -> float32)",
        "@f{}(%x)",
        "(ref(%x), fn (%y: float32) -> float32 { add(%x, %y) })",
        """def @main(%x: float32) {
  let %p = @f0(%x);
  let %q = @f0(%x);
  let %g = %p.1;
  let %u = ref_write(%p.0, %g(%x));
  (ref_read(%p.0), ref_read(%q.0))
}""",
    )
    evaluated = _evaluated(module)
    assert not any(summarized)
    assert irtool.evaluate(evaluated, [np.float32(3)]) == (6, 3)
