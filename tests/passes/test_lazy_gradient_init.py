"""LazyGradientInit on programs whose tensors are in data types, references and closures."""

from __future__ import annotations

import numpy as np
import pytest

import irtool

T = "Tensor[(2), float32]"
TYPES = f"""
type Chain[A] {{ Link(A, Chain[A]), End, }}
type Box {{ Box({T}), }}
type Count {{ More(Count), Done, }}
"""
MATCH = 'match (%l) { Link(%h, _) => { add(%h, ones_like(%h)) }, End => { zeros(shape=[2], dtype="float32") }, }'

IN_REACH = {
    "a list inside": f"def @main(%x: {T}) {{ let %l = Link(%x, End); {MATCH} }}",
    "a reference inside": f"def @main(%x: {T}) {{ let %r = ref(%x); add(ref_read(%r), ones_like(%x)) }}",
    "a parameter without tensors": f"def @main(%x: {T}) {{ @f(%x, More(Done)) }}"
    f"def @f(%x: {T}, %n: Count) -> {T} {{ match (%n) {{ Done => {{ %x }}, _ => {{ add(%x, ones_like(%x)) }}, }} }}",
    "a polymorphic function": f"def @f[A](%x: A) -> A {{ %x }} def @main(%x: {T}) {{ add(@f(%x), ones_like(%x)) }}",
}
OUT_OF_REACH = {
    "list passed on": f"def @f(%l: Chain[{T}]) -> {T} {{ {MATCH} }}"
    f"def @main(%x: {T}) -> {T} {{ @f(Link(add(%x, ones_like(%x)), End)) }}",
    "data type of tensors": f"def @main(%x: {T}) {{ let %l = Box(%x); "
    "match (%l) { Box(%h) => { add(%h, ones_like(%h)) }, } }",
    "closure passed on": f"def @f(%g: fn({T}) -> {T}, %x: {T}) -> {T} {{ %g(%x) }}"
    f"def @main(%x: {T}) {{ @f(fn (%y: {T}) {{ add(%y, ones_like(%x)) }}, %x) }}",
    "global function as a value": f"def @f(%x: {T}) -> {T} {{ tanh(%x) }}"
    f"def @main(%x: {T}) {{ let %g = @f; %g(add(%x, ones_like(%x))) }}",
    "operator as a value": f"def @main(%x: {T}) {{ let %f = tanh; %f(add(%x, ones_like(%x))) }}",
    "constructor as a value": f"def @main(%x: {T}) {{ let %f = Box; match (%f(%x)) {{ Box(%y) => {{ %y }}, }} }}",
    "type parameter": f"def @f[A](%a: A, %x: {T}) -> {T} {{ add(%x, ones_like(%x)) }} "
    f"def @main(%x: {T}) {{ let %g = @f; %g(1, %x) }}",
}


@pytest.mark.parametrize("text", [*IN_REACH.values(), *OUT_OF_REACH.values()], ids=[*IN_REACH, *OUT_OF_REACH])
def test_types_and_values_are_kept(text: str) -> None:
    module = irtool.infer_types(irtool.parse(TYPES + text))
    x = np.array([0.5, 2.0], "float32")
    expected = irtool.evaluate(module, [x])
    once = irtool.infer_types(irtool.run_passes(module, "LazyGradientInit"))
    assert (once.functions["main"] is module.functions["main"]) == (text in OUT_OF_REACH.values())
    np.testing.assert_array_equal(irtool.evaluate(once, [x]), expected)
    twice = irtool.infer_types(irtool.run_passes(once, "LazyGradientInit"))
    assert twice.functions["main"] is once.functions["main"]  # it computes on cells already


@pytest.mark.parametrize(
    "signature", [f"(%l: Chain[{T}])", f"(%l: ref({T}))", f"(%l: fn({T}) -> {T})"], ids=["list", "reference", "closure"]
)
def test_a_function_that_is_given_tensors_in_something_else_is_left(signature: str) -> None:
    module = irtool.infer_types(irtool.parse(f"{TYPES} def @main{signature} {{ %l }}"))
    rewritten = irtool.run_passes(module, "LazyGradientInit")
    assert rewritten.functions["main"] is module.functions["main"]
