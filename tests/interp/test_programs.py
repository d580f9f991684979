"""Whole programs, from text to value."""

from __future__ import annotations

import numpy as np
import pytest

from irtool.diagnostics import IrError
from irtool.infer import infer_types
from irtool.interp.evaluate import evaluate
from irtool.interp.values import Data
from irtool.parser import parse

HEAD = '#[version = "0.0.5"]\n'
LIST = "type List[A] { Cons(A, List[A]), Nil, }\n"


def run(text, *inputs, entry="main"):
    return evaluate(infer_types(parse(HEAD + text)), inputs, entry=entry)


def elements(data):
    out = []
    while len(data):
        out.append(data[0].item())
        data = data[1]
    return out


def test_map_fold_and_reverse_over_a_list():
    text = (
        LIST + "def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] { match (%l) { "
        "Cons(%h, %t) => { Cons(%f(%h), @map(%f, %t)) }, Nil => { Nil }, } } "
        "def @foldl[A, B](%f: fn (B, A) -> B, %z: B, %l: List[A]) -> B { match (%l) { "
        "Cons(%h, %t) => { @foldl(%f, %f(%z, %h), %t) }, Nil => { %z }, } } "
        "def @reverse[A](%l: List[A]) -> List[A] { @foldl(fn (%acc: List[A], %x: A) -> List[A] { Cons(%x, %acc) }, Nil, %l) } "
        "def @main(%k: int32) { let %l = Cons(1, Cons(2, Cons(3, Nil))); "
        "(@reverse(@map(fn (%x: int32) { multiply(%x, %k) }, %l)), @foldl(fn (%a: int32, %x: int32) { add(%a, %x) }, 0, %l)) }"
    )
    mapped, total = run(text, 10)
    assert elements(mapped) == [30, 20, 10]
    assert total == 6
    assert isinstance(mapped, Data)
    assert mapped.constructor.name == "Cons"


def test_closures_capture_values_not_names():
    text = (
        "def @main(%x: int32) { let %add = fn (%a: int32) { fn (%b: int32) { add(add(%a, %b), %x) } }; "
        "let %f = %add(1); let %g = %add(10); (%f(2), %g(2), %f(3)) }"
    )
    assert run(text, 100) == (103, 112, 104)


def test_mutual_recursion():
    text = (
        "def @main(%n: int32) { @even(%n) } "
        "def @even(%n: int32) -> bool { if (equal(%n, 0)) { True } else { @odd(subtract(%n, 1)) } } "
        "def @odd(%n: int32) -> bool { if (equal(%n, 0)) { False } else { @even(subtract(%n, 1)) } }"
    )
    assert run(text, 10_000)
    assert not run(text, 10_001)


def test_references_are_shared_by_those_who_hold_them():
    text = (
        "def @main() { let %r = ref(1); let %bump = fn () { ref_write(%r, add(ref_read(%r), 1)) }; "
        "let %a = %bump(); let %b = %bump(); ref_read(%r) }"
    )
    assert run(text) == 3


def test_nested_patterns_take_the_first_clause_that_fits():
    text = (
        LIST + "def @main(%c: bool) { let %l = if (%c) { Cons((1, 2), Nil) } else { Cons((3, 4), Cons((5, 6), Nil)) }; "
        "match (%l) { Cons((%a, _), Nil) => { %a }, Cons(_, Cons((_, %b), _)) => { %b }, Nil => { 0 }, } }"
    )
    assert run(text, True) == 1
    assert run(text, False) == 6


def test_dynamic_shapes_are_checked_against_each_other():
    text = "def @main(%x: Tensor[(?, 3), float32], %y: Tensor[(1, 3), float32]) { add(%x, %y) }"
    assert run(text, np.ones((4, 3), "float32"), np.ones((1, 3), "float32")).shape == (4, 3)
    with pytest.raises(IrError, match="axis 1 is 3 and 2"):
        run(text, np.ones((4, 2), "float32"), np.ones((1, 3), "float32"))


def test_half_precision():
    text = "def @main(%x: Tensor[(2), float16]) { add(%x, %x) }"
    out = run(text, np.array([1, 0.1], "float16"))
    assert out.dtype == np.float16


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    text = 'def @main(%x: Tensor[(2), bfloat16]) { (multiply(%x, %x), cast(%x, dtype="float32")) }'
    squared, wide = run(text, np.array([3, 0.5], ml_dtypes.bfloat16))
    assert squared.dtype == ml_dtypes.bfloat16
    assert squared.astype("float32").tolist() == [9, 0.25]
    assert wide.tolist() == [3, 0.5]
    bits = np.array([3, 0.5], ml_dtypes.bfloat16).view("uint16")
    assert run(text, bits)[1].tolist() == [3, 0.5]


def test_any_function_can_be_the_entry():
    text = "def @main() { 1 } def @twice(%x: int32) { add(%x, %x) }"
    assert run(text, 4, entry="twice") == 8
    with pytest.raises(IrError, match="no function @thrice"):
        run(text, entry="thrice")


def test_a_module_without_types_is_inferred_first():
    assert evaluate(parse(HEAD + "def @main(%x: int32) { let %y = add(%x, 1); %y }"), [2]) == 3
    with pytest.raises(IrError, match="int32 and float32"):
        evaluate(parse(HEAD + "def @main(%x: int32) { add(%x, 1f) }"), [2])


def test_what_numpy_refuses_is_reported_at_the_call():
    text = "def @main(%x: Tensor[(2, 3), float32], %s: Tensor[(2), int64]) { dyn.reshape(%x, %s, newshape=[]) }"
    with pytest.raises(IrError) as caught:
        run(text, np.ones((2, 3), "float32"), np.array([4, 4], "int64"))
    assert "dyn.reshape" in str(caught.value)
    assert caught.value.diagnostics[0].span is not None


def test_values_do_not_depend_on_the_run():
    text = 'def @main(%x: Tensor[(8), float32]) { (sum(%x), sort(%x, axis=0), argsort(%x, axis=0, dtype="int32")) }'
    x = np.array([3, 1, 2, 1, 3, 2, 1, 0], "float32")
    first, second = run(text, x), run(text, x)
    assert all((a == b).all() for a, b in zip(first, second, strict=True))
