"""Sequences of ONNX are there while a model is imported, and not in Relay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from tests.frontends.onnx.agreement import check, evaluated, inputs_of, parse

pytest.importorskip("onnx")

pytestmark = pytest.mark.promise("networks in ONNX")

NUMBERS = "zero = Constant<value_int=0>() one = Constant<value_int=1>() last = Constant<value_int=-1>()"
GRAPHS = {
    "parts of one extent": "s = SplitToSequence<axis=1, keepdims=0>(x) a = SequenceAt(s, one) b = SequenceAt(s, last) y = Add(a, b)",
    "parts of two": "n = Constant<value_int=2>() s = SplitToSequence<axis=1>(x, n) a = SequenceAt(s, last) y = Neg(a)",
    "parts of given extents": (
        "n = Constant<value_ints=[1,3,1]>() s = SplitToSequence<axis=1>(x, n) e = SequenceErase(s, one) "
        "y = ConcatFromSequence<axis=1>(e)"
    ),
    "insertions": (
        "e = SequenceEmpty() a = SequenceInsert(e, x) n = Neg(x) b = SequenceInsert(a, n, zero) c = Identity(b) "
        "d = SequenceErase(c) f = SequenceInsert(d, x) y = ConcatFromSequence<axis=-1, new_axis=1>(f)"
    ),
    "one tensor, along a new axis": "s = SequenceConstruct(x) y = ConcatFromSequence<axis=-1, new_axis=1>(s)",
    "a length": "n = Neg(x) s = SequenceConstruct(x, n, x) l = SequenceLength(s) y = Cast<to=1>(l)",
    "a computed position": (
        "n = Neg(x) s = SequenceConstruct(x, n) f = Constant<value_float=0.0>() m = ReduceMax<keepdims=0>(x) g = Greater(m, f) "
        "i = Cast<to=7>(g) j = Neg(i) y = SequenceAt(s, j)"
    ),
    "a loop that counts": (
        "n = Constant<value_int=3>() c = Constant<value = bool {1}>() e = SequenceEmpty() "
        "r = Loop(n, c, e) <body = turn (int64 i, bool go, seq(float[2,5]) s) => (bool on, seq(float[2,5]) t) "
        "{ on = Identity(go) f = Cast<to=1>(i) v = Mul(x, f) t = SequenceInsert(s, v) }> y = ConcatFromSequence<axis=0>(r)"
    ),
    "a loop that ends itself": (
        "c = Constant<value = bool {1}>() e = SequenceEmpty() "
        "k, r = Loop( , c, zero, e) <body = turn (int64 i, bool go, int64 k, seq(float[2,5]) s) => "
        "(bool on, int64 next, seq(float[2,5]) t) { f = Cast<to=1>(k) v = Mul(x, f) t = SequenceInsert(s, v) "
        "next = Add(k, one) three = Constant<value_int=3>() on = Less(next, three) }> y = ConcatFromSequence<axis=0>(r)"
    ),
}


@pytest.mark.parametrize("case", GRAPHS)
def test_sequences_are_as_onnx_has_them(case: str) -> None:
    from onnx.reference import ReferenceEvaluator

    model = parse(f"net (float[2,5] x) => (float[n] y) {{ {NUMBERS} {GRAPHS[case]} }}")
    inputs = inputs_of(model)
    (expected,) = ReferenceEvaluator(model).run(None, inputs)
    for compiled in (False, True):
        (actual,) = evaluated(model, inputs, compiled)
        np.testing.assert_allclose(actual, expected, 1e-6)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ("s = SequenceConstruct(x, x) t = Constant<value_int=2>() y = SequenceAt(s, t)", "is 2, and there are 2"),
        ("s = SequenceEmpty() y = SequenceErase(s)", "has none to erase"),
        ("s = SequenceEmpty() y = ConcatFromSequence<axis=0>(s)", "cannot be joined"),
        ("s = SequenceConstruct(x) y = Relu(s)", "a tensor is expected, not a sequence of 1 tensors"),
        ("y = SequenceAt(x, zero)", "is of float32, which it does not take"),
        (
            "n = Neg(x) s = SequenceConstruct(x, n) k = Cast<to=7>(x) y = SequenceInsert(s, x, k)",
            "the position in a sequence",
        ),
        (
            "n = Cast<to=7>(m) s = SequenceEmpty() r = Loop(n, , s) <body = turn (int64 i, bool go, seq(float[2,5]) s) => "
            "(bool on, seq(float[2,5]) t) { on = Identity(go) t = SequenceInsert(s, x) }> y = ConcatFromSequence<axis=0>(r)",
            "the number of its turns must be known",
        ),
    ],
)
def test_what_a_sequence_cannot_have_is_refused(graph: str, message: str) -> None:
    model: Any = parse(f"net (float[2,5] x, float m) => (float[n] y) {{ {NUMBERS} {graph} }}")
    with pytest.raises(IrError, match=message):
        irtool.from_onnx(model)


@pytest.mark.parametrize("repeats", ["0, 2", "2, 0", "0, 0"])
def test_a_tensor_that_is_repeated_no_times_is_empty(repeats: str) -> None:
    """As parts are that exporters select from a list of indices without any."""
    check(f"net (float[2,5] x) => (float[n,m] y) {{ r = Constant<value_ints=[{repeats}]>() y = Tile(x, r) }}")
