"""Polymorphic functions that are values: in tuples, data and references, from branches and recursion, by instances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool
from irtool.driver import unsupported
from irtool.driver.polymorphic_values import with_polymorphic_values
from irtool.ir.types import quantified
from tests.driver.programs import parse
from tests.fuzz.compiled import values_at_run_time

LIBRARY = """
type List[A] { Cons(A, List[A]), Nil, }
type Opt[A] { Some(A), Nothing, }
type Box[B] { Box(fn [A](A, B) -> A), Empty(B), }
type Wrapped { Wrapped(fn [A](A) -> A), Bare, }
def @id[A](%a: A) -> A { %a }
def @same[A](%a: A) -> A { let %b = %a; %b }
def @first[A, B](%a: A, %b: B) -> A { %a }
"""
PARAMETERS = "%c: bool, %x: float32, %n: int32"
BODIES = {
    "tuples of branches": (
        "",
        "let %t = if (%c) { (@id, %x) } else { (@same, 2f) }; (%t.0(%x), %t.0(%n), %t.1)",
    ),
    "references": (
        "",
        """let %r = ref(@id); let %u = if (%c) { ref_write(%r, @same) } else { () };
        let %g = ref_read(%r); (%g(%x), %g(%n))""",
    ),
    "data": (
        "",
        """let %b = if (%c) { Wrapped(@id) } else { Bare };
        match (%b) { Wrapped(%f) => { (%f(%x), %f(%n)) }, Bare => { (%x, 7) }, }""",
    ),
    "lists": (
        """def @make(%n: int32) -> List[fn [A](A) -> A] {
          if (%n < 1) { Nil } else { Cons(if (%n > 3) { @id } else { @same }, @make(%n - 1)) } }
        def @all[T](%l: List[fn [A](A) -> A], %x: T) -> T {
          match (%l) { Nil => { %x }, Cons(%f, %r) => { @all(%r, %f(%x)) }, } }""",
        "let %l = @make(%n); let %m = @all(%l, %l); (@all(%m, %x), @all(%m, (%n, %x)))",
    ),
    "recursion with captured values": (
        """def @go(%k: int32, %f: fn [A](A) -> (A, float32), %x: float32) -> ((float32, float32), (int32, float32)) {
          if (%k < 1) { (%f(%x), %f(%k)) } else {
            @go(%k - 1, fn [B](%b: B) -> (B, float32) { let %r = %f(%b); (%r.0, %r.1 + %x) }, %x) } }""",
        "@go(%n, fn [A](%a: A) -> (A, float32) { (%a, %x) }, %x)",
    ),
    "types with parameters": (
        """def @use[B](%k: int32, %t: Box[B], %b: B) -> (int32, float32) { match (%t) {
          Box(%f) => { if (%k > 0) { @use(%k - 1, %t, %b) } else { (%f(%k, %b), %f(1f, %b)) } },
          Empty(%e) => { (9, 0f) }, } }""",
        """let %q = if (%c) { Box(fn [A](%a: A, %b: float32) -> A { @first(%a, %b) }) } else { Empty(%x) };
        let %p = if (%c) { Box(fn [A](%a: A, %b: int32) -> A { if (%n > %b) { %a } else { @first(%a, 1) } }) } else { Empty(%n) };
        (@use(%n, %q, %x), @use(%n, %p, %n))""",
    ),
    "themselves as arguments": (
        """def @go(%k: int32, %w: Wrapped) -> Wrapped { match (%w) {
          Wrapped(%f) => { if (%k < 1) { %f(%w) } else { @go(%k - 1, %f(Wrapped(%f(%f)))) } }, Bare => { Bare }, } }""",
        """match (@go(%n, if (%c) { Wrapped(@id) } else { Wrapped(@same) })) {
        Wrapped(%f) => { (%f(%x), %f(%n)) }, Bare => { (9f, %n) }, }""",
    ),
    "beside functions of one type": (
        """def @go(%k: int32, %t: (fn (float32) -> float32, float32)) -> float32 {
          if (%k < 1) { %t.0(%t.1) } else { @go(%k - 1, if (%k > 2) { (@id, %t.1) } else { (%t.0, %t.0(%t.1)) }) } }""",
        """let %f = if (%c) { @id } else { fn (%q: float32) -> float32 { %q * 2f } };
        (@go(%n, (@same, %x)), %f(%x), @id(%n))""",
    ),
    "constructors": (
        """def @go(%k: int32, %f: fn [A](A) -> Opt[A], %n: int32) -> (Opt[float32], Opt[int32]) {
          if (%k < 1) { (%f(1f), %f(%n)) } else { @go(%k - 1, if (%k > 2) { Some } else { %f }, %n) } }""",
        """let %f = if (%c) { Some } else { fn (%q: float32) -> Opt[float32] { Nothing } };
        (@go(%n, fn [A](%a: A) -> Opt[A] { Nothing }, %n), %f(%x), Some(%n))""",
    ),
    "operators": (
        "",
        "let %r = ref((exp, 1)); let %u = if (%c) { ref_write(%r, (exp, %n)) } else { () }; let %t = ref_read(%r); (%t.0(%x), %t.1)",
    ),
    "recursive literals": (
        "",
        """let %f: fn [A](int32, A) -> A = fn [B](%k: int32, %b: B) -> B {
          if (%k < 1) { %b } else { %f(%k - 1, %b) } };
        let %r = ref(%f); let %u = if (%c) { ref_write(%r, fn [B](%k: int32, %b: B) -> B { %b }) } else { () };
        let %g = ref_read(%r); (%g(%n, %x), %g(%n, %n))""",
    ),
}


def program(kind: str) -> irtool.Module:
    functions, body = BODIES[kind]
    return irtool.infer_types(parse(f"{LIBRARY}{functions}\ndef @main({PARAMETERS}) {{ {body} }}"))


@pytest.mark.parametrize("kind", BODIES)
def test_compiled_code_gives_what_the_interpreter_gives(kind: str, quick_compiles: None) -> None:
    module = program(kind)
    artifact = irtool.build(module)
    assert artifact.files, "it is not compiled for the values of each run"
    for c, n in ((True, 5), (False, 5), (True, 0), (False, 1)):
        inputs = [np.bool_(c), np.float32(1.5), np.int32(n)]
        assert numbers(artifact.run(inputs)) == pytest.approx(numbers(irtool.evaluate(module, inputs)))


@pytest.mark.parametrize("kind", BODIES)
def test_nothing_is_polymorphic_afterwards(kind: str) -> None:
    """The interpreter gives the same for the module without polymorphic functions."""
    module = program(kind)
    instances = with_polymorphic_values(module)
    for f in instances.relay_functions.values():
        assert not f.type_params
        assert not quantified(f.checked_type)
    assert with_polymorphic_values(instances) is instances
    for c, n in ((True, 5), (False, 2)):
        inputs = [np.bool_(c), np.float32(1.5), np.int32(n)]
        assert numbers(irtool.evaluate(instances, inputs)) == numbers(irtool.evaluate(module, inputs))


def numbers(value: Any) -> list[Any]:
    """The numbers in a value, with the names of the constructors around them."""
    if not isinstance(value, tuple):
        return [float(value)]
    name = getattr(getattr(value, "constructor", None), "name", "")
    return [sum(map(ord, name)), *(n for v in value for n in numbers(v))]


def test_types_that_grow_without_end_are_refused_with_the_place() -> None:
    text = """
def @go(%k: int32, %f: fn [A](A) -> int32) -> int32 {
  if (%k < 1) { %f(%k) } else { @go(%k - 1, fn [B](%b: B) -> int32 { %f((%b, %b)) }) } }
def @main(%n: int32) { @go(%n, fn [A](%a: A) -> int32 { 1 }) }
"""
    (diagnostic,) = unsupported(parse(text))
    assert "calls itself with a new type each time" in diagnostic.message
    assert diagnostic.code is not None and diagnostic.code.name == "E0602"
    assert diagnostic.span is not None and diagnostic.span.line == 4


@pytest.mark.parametrize("t", ["fn [A](A) -> A", "(int32, fn [A](A) -> A)", "Wrapped", "List[fn [A](A) -> A]"])
def test_callers_have_no_polymorphic_functions(t: str) -> None:
    problems = unsupported(parse(f"{LIBRARY}def @main(%f: {t}, %x: float32) {{ (%x, %f) }}"))
    assert any("no representation that callers could read" in d.message for d in problems)


@pytest.mark.parametrize("kind", ["constructors", "beside functions of one type"])
def test_values_of_other_types_stay_polymorphic_elsewhere(kind: str) -> None:
    """Of two places with the same constructor or function, each has its own types."""
    assert irtool.infer_types(irtool.parse(irtool.to_text(program(kind)))) is not None


WITHOUT_REDUCTION = {
    "types that no value has": (
        """type Either[A, B] { Left(A), Right(B), }
        def @main(%c: bool, %n: int32) -> int32 { match (Right(%n)) { Left(_) => { 0 }, Right(%b) => { %b }, } }"""
    ),
    "a match of bindings": (
        """type Maybe { Just(int32), Not, }
        def @main(%c: bool, %n: int32) -> int32 {
          match ({ let %r = ref(if (%c) { Just(%n) } else { Not }); ref_read(%r) }) { Just(%x) => { %x }, Not => { 7 }, } }"""
    ),
}


@pytest.mark.parametrize("kind", WITHOUT_REDUCTION)
def test_data_that_nothing_reduces_before(kind: str, quick_compiles: None) -> None:
    module = irtool.infer_types(parse(WITHOUT_REDUCTION[kind]))
    with values_at_run_time():
        artifact = irtool.build(module)
    for c in (True, False):
        inputs = [np.bool_(c), np.int32(3)]
        assert artifact.run(inputs) == irtool.evaluate(module, inputs)
