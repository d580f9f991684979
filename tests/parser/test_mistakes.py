"""What is said about texts that are wrong."""

from __future__ import annotations

import pytest

from irtool.diagnostics import IrError, render
from irtool.parser import parse, parse_expr, read_with_diagnostics

VERSION = '#[version = "0.0.5"]\n'


def errors(text: str) -> list:
    module, diagnostics = read_with_diagnostics(VERSION + text, "t.relay")
    assert module is None
    render(diagnostics)
    return [d for d in diagnostics if d.level == "error"]


def only_error(text: str):
    (error,) = errors(text)
    return error


def test_every_mistake_is_reported_once():
    text = """def @main(%x: Tensor[(1, 2), float32]) {
  %0 = nn.conv2D(%x, %x)
  %1 = add(%0, %y);
  %2 = add(%1 %0);
  nn.relu(%2, %2
}

def @g(%y: int32) -> int32 {
  let z = %y;
  add(%y, 1)
}

def @h(%a int32) { %a }

def @fine(%a: int32) { %a }

def main() { %a }
"""
    diagnostics = errors(text)
    assert [(d.span.line, d.message.split(",")[0]) for d in diagnostics] == [
        (3, "unknown operator nn.conv2D"),
        (3, "expected `;` after this binding"),
        (4, "%y is not defined here; it is a parameter of @g"),
        (5, "expected `"),
        (7, "expected `"),
        (10, "expected a variable like `%x`"),
        (14, "expected `"),
        (18, "expected a function's name like `@main`"),
    ]


def test_hints():
    assert only_error("def @main(%x: int32) { nn.conv2D(%x, %x) }").help == "did you mean nn.conv2d?"
    assert only_error("def @main(%x: Tesnor[(1), float32]) { %x }").help == "did you mean Tensor?"
    assert only_error("def @main() { let z = 1; 2 }").help == "a local variable is written %z"
    assert only_error("def @main() { @mian() }").help == "did you mean main?"
    assert "did you mean axis?" in only_error("def @main(%x: int32) { nn.softmax(%x, axes=1) }").help
    assert only_error("def @main(%x: int32) { cast(%x, dtype=float32) }").help == 'a string is written "float32"'
    assert only_error("type L { Nil }\ndef @main(%x: L) { match (%x) { Nill => 1 } }").help == "did you mean Nil?"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def @f() { 1 }\ndef @f() { 2 }", "the function @f is defined twice"),
        ("type A { B }\ntype A { C }", "the type A is defined twice"),
        ("type A { B, B }", "the constructor B is defined twice"),
        ("extern type A { B }", "the external type A may not have constructors"),
        ("def @f() { %0 }", "%0 is used before it is given a value"),
        ("def @f(%x: Unheard) { %x }", "unknown type Unheard"),
        ("def @f() { add(1, axis=1, 2) }", "an attribute stands where an argument must"),
        ("def @f() { clip(1, a_min=1f, a_min=1f, a_max=2f) }", "the attribute a_min is given twice"),
        ("def @f(%x: Tensor[(99999999999999999999), int8]) { %x }", "99999999999999999999 does not fit in int64"),
        ('def @f() { "a', "this string has no end"),
        ("def @f() { /* 1 }", "this comment has no end"),
        ("def @f() { 1 } $", "the character $ has no meaning here"),
        ("#[hello]\ndef @f() { 1 }", "unknown section"),
        ("def @f() { (1).99999999999 }", "no tuple has 99999999999 fields"),
    ],
)
def test_messages(text, message):
    assert message in [d.message for d in errors(text)]


def test_what_is_not_closed():
    error = only_error("def @main() {\n  add(1, 2)")
    assert error.message == "expected `}`, found the end of the text"
    assert error.notes == ("`{` at t.relay:2:13 is not closed",)
    assert errors("def @main() { add((1, 2 }")[0].message == "expected `,` or `)`, found `}`"


def test_versions():
    for version in ("0.0.3", "1.0", ""):
        with pytest.raises(IrError, match="unknown version"):
            parse(f'#[version = "{version}"]\ndef @main() {{ 1 }}')


def test_an_expression_is_no_module():
    for text in ("def @id[A](%x: A) -> A { %x }", "type Ayy { Lmao }", "", "1 2"):
        with pytest.raises(IrError):
            parse_expr(text)


def test_the_number_of_messages_is_bounded():
    diagnostics = errors("def @main() {\n" + "  let = 1;\n" * 10_000 + "}")
    assert len(diagnostics) < 100


def test_an_error_in_a_long_line_is_short():
    text = "def @main() { (" + "1, " * 100_000 + "%y) }"
    assert len(render(errors(text))) < 1000


def test_mistakes_in_a_call_that_is_one_word_have_their_own_places():
    text = """#[version = "0.0.5"]
def @main(%x: int8) {
  %0 = ad(%x, %x);
  %1 = add(%x, %yy);
  %2 = add(%9, %x);
  %3 = nn.dense(%x, %x, %x);
  add(%0, %1)
  multiply(%2, %3)
}
"""
    module, diagnostics = read_with_diagnostics(text)
    assert module is None
    assert [(d.span.line, d.span.column, d.span.end - d.span.start) for d in diagnostics if d.span] == [
        (3, 8, 2),
        (4, 16, 3),
        (5, 12, 2),
        (6, 8, 20),
        (7, 13, 1),
    ]
    assert "expected `;`" in diagnostics[-1].message and "did you mean" in diagnostics[0].help
