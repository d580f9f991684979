"""Texts that leave something out: tutorials, older versions, cut-off modules."""

from __future__ import annotations

import pytest

from irtool.ir import Constant, DimVar, Function, Let, MissingData, TensorType
from irtool.ir.structural import structural_equal
from irtool.parser import parse, parse_expr, read_with_diagnostics

VERSION = '#[version = "0.0.5"]\n'


def warnings(text: str) -> list[str]:
    module, diagnostics = read_with_diagnostics(text)
    assert module is not None
    return [d.message for d in diagnostics]


def test_lines_end_bindings():
    plain = """def @muladd(%x, %y, %z) {
  %0 = mul(%x, %y)
  %1 = add(%0,
    %z)
  (%0, %1)
}
def @main(%x) {
  %0 = @muladd(%x, 1, 2)
  %1 = %0.0
  let %y = if (less(%1, 2)) {
    %x
  } else {
    %1
  }
  -%y
}"""
    full = (
        VERSION
        + """def @muladd(%x, %y, %z) {
  %0 = multiply(%x, %y);
  %1 = add(%0, %z);
  (%0, %1)
}
def @main(%x) {
  %0 = @muladd(%x, 1, 2);
  %1 = %0.0;
  let %y = if (less(%1, 2)) { %x } else { %1 };
  negative(%y)
}"""
    )
    assert structural_equal(parse(plain), parse(full))


def test_lines_end_bindings_in_braces_and_not_in_parentheses():
    plain = """def @main(%x, %c) {
  %0 = (%x
    - %x)
  %2 = multiply(if (%c) {
    %1 = add(%x, %x)
    (%1, %x).0
  } else {
    %x
  }, (%x, (%x
    - %0)).1
    - %x)
  -%2
}"""
    full = """def @main(%x, %c) {
  %0 = (%x - %x);
  %2 = multiply(if (%c) { %1 = add(%x, %x); (%1, %x).0 } else { %x }, (%x, (%x - %0)).1 - %x);
  -%2
}"""
    assert structural_equal(parse(plain), parse(VERSION + full))


@pytest.mark.promise("pasted text")
def test_a_version_line_does_not_change_the_dialect():
    plain = "def @main(%x) {\n  %0 = sub(log(%x), %x)\n  (%0, %x) // a comment; with a semicolon\n}"
    assert any("in the form of tutorials" in message for message in warnings(VERSION + plain))
    assert structural_equal(parse(VERSION + plain), parse(plain))
    once = VERSION + "def @main(%x) {\n  %x\n  - 1f\n}"
    assert warnings(once) == [] and parse(once)["main"].body.op.name == "subtract", (
        "what reads as it stands is left alone"
    )


def test_lines_do_not_end_bindings_in_a_text_with_a_version_and_semicolons():
    module, diagnostics = read_with_diagnostics(VERSION + "def @main(%x) {\n  %0 = log(%x)\n  %1 = exp(%0);\n  %1\n}")
    assert module is None and "expected `;` after this binding" in diagnostics[0].message
    module, diagnostics = read_with_diagnostics(VERSION + "def @main(%x) {\n  %0 = sub(%x, %x);\n  %0\n}")
    assert module is None and diagnostics[0].help == "did you mean subtract?"


def test_mistakes_in_the_dialect_with_a_version_are_reported_once():
    module, diagnostics = read_with_diagnostics(
        VERSION + "def @main(%x) {\n  %0 = sub(%x, %x)\n  %1 = frob(%0)\n  %1\n}"
    )
    assert module is None
    assert [d.message for d in diagnostics if d.level == "error"] == ["unknown operator frob"]


def test_numbers_name_let_variables():
    e = parse_expr("let %1 = 1\nlet %2 = add(%1, %1)\n%2")
    assert isinstance(e, Let) and e.body.value.args == (e.var, e.var) and e.body.body is e.body.var


def test_angle_brackets():
    m = parse('def @f<A>(%x: A)<key="v", n=1> -> A {\n  %x\n}\ndef @g(%x)<Primitive=1> { %x }')
    assert m["f"].type_params[0].name == "A" and m["f"].attrs == {"key": "v", "n": 1}
    assert m["f"].ret_type is m["f"].type_params[0] and m["g"].attrs == {"Primitive": 1}


def test_short_names_of_operators():
    e = parse_expr("free_var %x; relu(sub(%x, conv2d(%x, %x)))")
    assert (e.op.name, e.args[0].op.name, e.args[0].args[1].op.name) == ("nn.relu", "subtract", "nn.conv2d")
    module, diagnostics = read_with_diagnostics(VERSION + "def @main(%x: int32) { relu(%x); relu(%x) }")
    assert module is None and diagnostics[0].help == "did you mean nn.relu?"


def test_versions():
    assert warnings(VERSION + "def @main() { 1 }") == []
    assert "no version line" in warnings("def @main() { 1 }")[0]
    for line in ('#[version = "0.0.4"]', '#[version = "v0.0.4"]', "v0.0.4"):
        assert "version 0.0.4" in warnings(line + "\ndef @main() { 1 }")[0]


def test_a_bare_expression_is_a_module():
    m, diagnostics = read_with_diagnostics("free_var %x: float32; add(%x, %x)")
    assert any("bare expression" in d.message for d in diagnostics)
    assert [p.name for p in m["main"].params] == ["x"] and m["main"].body.args[0] is m["main"].params[0]
    assert isinstance(parse("fn (%x: int32) { %x }")["main"], Function)


def test_missing_constants_are_typed_unknowns():
    text = (
        VERSION
        + """def @main(%x: Tensor[(meta[tir.Var][0], 3), float32]) {
  %0 = add(%x, meta[relay.Constant][1] /* ty=Tensor[(1, 3), float32] span=a.py:1:2 */);
  (%0, meta[relay.Constant][1], meta[relay.Constant][0])
}"""
    )
    m, diagnostics = read_with_diagnostics(text)
    assert any("cut off" in d.message for d in diagnostics)
    total, again, other = m["main"].body.fields
    constant = total.args[1]
    assert isinstance(constant, Constant) and constant.data == MissingData(1)
    assert constant.type_annotation == TensorType((1, 3), "float32") and constant is again
    assert other.data == MissingData(0) and other.type_annotation is None
    assert isinstance(m["main"].params[0].type_annotation.shape[0], DimVar)


def test_constants_alone_may_be_missing():
    text = VERSION + "def @main() { meta[relay.Constant][0] }\n#[metadata]\n"
    m = parse(text + '{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Map"}], "b64ndarrays": []}')
    assert m["main"].body.data == MissingData(0)


def test_an_empty_text_is_an_empty_module():
    assert parse("").functions == {} == parse(VERSION).functions
