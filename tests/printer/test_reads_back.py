"""Texts that once did not read back as they were printed, each the smallest of its kind."""

from __future__ import annotations

import json
import re

import pytest

import irtool
from irtool.diagnostics import IrError
from tests.fuzz.text_trial import try_text

VERSION = '#[version = "0.0.5"]\n'


def section(*records: dict[str, object], **entries: list[int]) -> str:
    """A metadata section: `entries` are lists of numbers by type key (`__` for `.`), `records` the nodes from number 10 on."""
    keys = list(entries)
    nodes: list[dict[str, object]] = [{"type_key": ""}]
    nodes.append(
        {"type_key": "Map", "keys": [k.replace("__", ".") for k in keys], "data": list(range(2, 2 + len(keys)))}
    )
    nodes += [{"type_key": "Array", "data": entries[k]} for k in keys]
    nodes += [{"type_key": ""}] * (10 - len(nodes))
    return "\n#[metadata]\n" + json.dumps({"root": 1, "nodes": [*nodes, *records], "b64ndarrays": []})


COMPILER = {"type_key": "relay.attrs.CompilerAttrs", "attrs": {"compiler": "npu"}}
TEXTS = {
    "attributes that are missing, of an operator that declares none": (
        "def @main(%x: Tensor[(2), float32], %n: int64) { dyn.expand_dims(%x, %n, meta[relay.attrs.DynExpandDimsAttrs][0]) }"
    ),
    "a missing dimension within one that is made of it": (
        "def @main(%x: Tensor[(meta[tir.Var][0], 2), float32]) { split(%x, indices_or_sections=2) }"
    ),
    "attributes that two calls share": (
        'def @main(%x: int8) { annotation.compiler_begin(annotation.compiler_begin(%x, compiler="npu"), compiler="npu") }'
    ),
    "attributes of an operator where none is called": (
        "def @main(%x: int8, a=meta[relay.attrs.CompilerAttrs][0], b=meta[Array][0]) { %x }"
        + section(COMPILER, {"type_key": "Array", "data": [10]}, relay__attrs__CompilerAttrs=[10], Array=[11])
    ),
    "numbers in a record that nothing is known of": "def @main(%x: int8, a=Thing(1, b=2, a=0.5f)) { %x }",
    "a record that nothing is known of, whose fields are not in order": (
        "def @main(%x: int8, a=meta[Thing][0]) { %x }"
        + section(
            {"type_key": "Thing", "attrs": {"n": "11", "m": "1.5"}},
            {"type_key": "IntImm", "attrs": {"dtype": "int32", "value": "7", "span": "0"}},
            Thing=[10],
        )
    ),
    "a function among attributes": "def @main(%x: int8, a=@main, b=[@main, 1]) { %x }",
    "a variable of a match whose name is a path": "def @main(%a.0: int8) { match (%a.0) { %a.0 => (%a.0, %a.0) } }",
    "a lowered function whose buffers are not told": (
        "def @main(%x: int8) { call_lowered(@k, (%x,)) /* ty=int8 */ }\n"
        "@k = primfn(a: handle, b: handle) -> ()\n  buffers = {}\n  buffer_map = {} {\n}"
    ),
    "a value that two definitions share": "def @f() { %0 = add(1, 1); %0 }\ndef @main() { multiply(%0, %0) }",
    "a lowered function without end": (
        "def @main(%x: int8) { %x }\n@k = primfn(a: handle) -> ()\n  buffers = {}\n  buffer_map = {} {\n  for (i: int"
    ),
    "a function that returns a generic one": "def @main() { fn [T](%x: T) -> T { %x } }",
    "a type parameter behind a function that has one of the same name": (
        "def @main[T](%x: T) -> T { let %f = fn [T](%y: T) -> T { %y }; let %z: T = %x; %z }"
    ),
}


@pytest.mark.promise("mutated texts")
@pytest.mark.parametrize("name", TEXTS)
def test_text(name: str) -> None:
    outcome = try_text(VERSION + TEXTS[name])
    assert outcome.kind in ("read", "typed"), outcome.message


REFUSED = {
    "def @f(%x: int8) { %0 = add(%x, %x); %0 }\ndef @main(%x: int8) { %0 }": "%0 is made of %x, which is not defined in @main",
    "def @main(%x: Tensor[(9223372036854775807, 2), int8]) { 1 }": "18446744073709551614 elements",
    "def @main(%x: Tensor[(meta[tir.Var][0], 2), float32]) { expand_dims(%x, axis=1, num_newaxis=meta[tir.Var][0]) }": (
        "expected a number"
    ),
    "def @main(%x: int8, a=meta[relay.attrs.Q][0]) { %x }"
    + section({"type_key": "relay.attrs.Q", "attrs": {"a": "1"}}, relay__attrs__Q=[10]): (
        "no operator has the attributes relay.attrs.Q"
    ),
}


@pytest.mark.promise("mutated texts")
@pytest.mark.parametrize("text", REFUSED)
def test_refused_with_a_place(text: str) -> None:
    with pytest.raises(IrError, match=re.escape(REFUSED[text])) as caught:
        irtool.parse(VERSION + text)
    assert caught.value.diagnostics[0].span is not None


@pytest.mark.promise("mutated texts")
def test_an_annotation_is_joined_with_none_that_was_written_alike() -> None:
    """The result's type has a part in which a dimension is not known; the parameter's, of the same text, keeps all of its own."""
    text = VERSION + (
        "def @main(%x: Tensor[(1, 2), int8], %d: Tensor[(?, 2), int8]) -> (Tensor[(1, 2), int8],) { (add(%x, %d),) }"
    )
    outcome = try_text(text)
    assert outcome.kind == "typed", outcome.message
    assert "%x: Tensor[(1, 2), int8] /* ty=Tensor[(1, 2), int8] */" in irtool.to_text(irtool.parse(text))


@pytest.mark.promise("mutated texts")
@pytest.mark.parametrize("opening, closing", [("{'a'=", "}"), ("[{'a'=", "}]"), ("{'a'=[1, ", "]}")])
def test_dictionaries_nested_deeply(opening: str, closing: str) -> None:
    depth = 3000
    outcome = try_text(f"{VERSION}def @main(%x: int8, a={opening * depth}1{closing * depth}) {{ %x }}")
    assert outcome.kind == "typed", outcome.message[:200]
