"""The canonical layout: whatever a text looks like, its words, comments and meaning stay, and once is enough."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings

from irtool.diagnostics import IrError
from irtool.infer import infer_types
from irtool.ir import Module
from irtool.ir.structural import structural_equal
from irtool.parser import parse
from irtool.parser.comments import comments_between
from irtool.parser.outline import outline
from irtool.printer import to_text
from irtool.printer.layout import lay_out
from tests.generators import modules

ROOT = Path(__file__).parents[2]
GOLDENS = sorted([*ROOT.glob("samples/*.relay"), *ROOT.glob("tests/golden/**/*.relay")])
PRINTED = sorted(ROOT.glob("tests/golden/passes/*/*.relay.expected"))
VERSION = '#[version = "0.0.5"]\n'


def comments(text: str) -> list[str]:
    o = outline(text)
    texts, offset = [], 0
    for _, word, start in [*o.words, ("", "", len(o.source.text))]:
        texts += [c.text for c in comments_between(o.source.text, offset, start)[0]]
        offset = start + len(word)
    return texts


def test_samples_and_goldens() -> None:
    tried = changed = 0
    for path in GOLDENS:
        text = path.read_text()
        try:
            before = parse(text)
        except IrError:
            continue
        formatted = lay_out(text, str(path))
        assert structural_equal(before, parse(formatted)), path
        assert comments(text) == comments(formatted), path
        assert lay_out(formatted) == formatted, path
        assert not re.search(r"[ \t]$", outline(formatted).source.text, re.MULTILINE), path
        tried, changed = tried + 1, changed + (formatted != text)
    assert tried > 400 and changed > 50


def test_what_is_printed_is_laid_out_already() -> None:
    tried = 0
    for path in PRINTED:
        text = path.read_text()
        if not text.startswith("#[version") or "\n// RUN" in text or re.search(r"^ +$", text, re.MULTILINE):
            continue
        try:
            formatted = lay_out(text)
        except IrError:
            continue
        assert formatted == text, path
        tried += 1
    assert tried > 150


@settings(max_examples=25, deadline=None)
@given(modules())
def test_random_modules_in_random_blanks(module: Module) -> None:
    """Whatever blanks, lines and comments stand between the words, the layout has the words in the lines of the printer."""
    text = to_text(infer_types(module), types="none")
    assert lay_out(text) == text
    chance = random.Random(len(text))
    o = outline(text)
    scattered = [text[: o.words[0][2]]]
    for n, (_, word, offset) in enumerate(o.words):
        end = o.words[n + 1][2] if n + 1 < len(o.words) else len(o.source.text)
        gap = text[offset + len(word) : end]
        scattered += [word, chance.choice([" ", "\t ", "   "]) if gap == " " else gap]
    assert lay_out("".join(scattered) + text[len(o.source.text) :]) == text
    noted = "".join(
        p
        if p.strip() or not p or chance.random() < 0.7 or n < 2
        else chance.choice([" /* a */ ", " // b\n", "\n// c\n", "\n\n"])
        for n, p in enumerate(scattered)
    )
    noted += "\n" + text[len(o.source.text) :]
    formatted = lay_out(noted)
    assert comments(formatted) == comments(noted)
    assert structural_equal(parse(formatted), parse(text))
    assert lay_out(formatted) == formatted


FREE = "free_var %x;\nfree_var %y;\n"
FORMS = {
    "%0=add(%x,1f);%0": "%0 = add(%x, 1f);\n%0",
    "%x-1f* -2f": "%x - 1f * -2f",
    "-%x": "-%x",
    "(%x,)": "(%x,)",
    "(%x,%x,)": "(%x, %x)",
    "let %y:Tensor[(2,),float32]=%x;%y.0": "let %y: Tensor[(2), float32] = %x;\n%y.0",
    "if(True){%x}else if (False) {%x} else{ %x}": "if (True) {\n  %x\n} else if (False) {\n  %x\n} else {\n  %x\n}",
    "(let %y=1;%y)": "(\n  let %y = 1;\n  %y\n)",
    "fn[T](%a:T,k=1)->T{%a}": "fn [T](%a: T, k=1) -> T {\n  %a\n}",
    "fn(%a {virtual_device=VirtualDevice(device_type=1)}:fn(int32)->int32)->int32{%a(1)}": (
        "fn (%a {virtual_device=VirtualDevice(device_type=1)}: fn (int32) -> int32) -> int32 {\n  %a(1)\n}"
    ),
    "transpose(%x,axes=[ 1,0 ])": "transpose(%x, axes=[1, 0])",
    "add(\n%x,\n%y)": "add(\n  %x,\n  %y\n)",
    "add(%x,\n%y)": "add(%x, %y)",
    "add(%x, // one\n%y)": "add(\n  %x, // one\n  %y\n)",
    "add(%x /* one */,%y)": "add(%x /* one */, %y)",
    "add(%x,/* one */%y)": "add(%x, /* one */ %y)",
    "add(/* one */%x,%y)": "add(/* one */ %x, %y)",
    "{%x}": "{\n  %x\n}",
    "let %a = 1; // one\n\n\n// two\nlet %b = 2;\n/* three */ %x": "let %a = 1; // one\n\n// two\nlet %b = 2;\n/* three */ %x",
    "/* a /* b */ c */ %x // d": "/* a /* b */ c */ %x // d",
    "ref_write(ref(%x),%x)": "ref_write(ref(%x), %x)",
    "let %y =\n// why\n%x; %y": "let %y =\n  // why\n  %x;\n%y",
}


@pytest.mark.parametrize("text", FORMS)
def test_forms(text: str) -> None:
    formatted = lay_out(f"{FREE}{text}")
    assert formatted == f"{FREE}{FORMS[text]}\n"
    assert lay_out(formatted) == formatted


def test_definitions_types_and_matches() -> None:
    text = VERSION + (
        "\n\ntype T[A]{C(A,T[A]),N}\n// about f\n\n\ndef @f(%t:T[int32])->int32{ // in f\n\n"
        "match(%t){C(%h,_)=>%h,N=>{0}}\n\n}\nextern def @g: fn(int32)->int32\n// the end\n"
    )
    assert lay_out(text) == VERSION + (
        "type T[A] {\n  C(A, T[A]),\n  N,\n}\n\n// about f\n\ndef @f(%t: T[int32]) -> int32 { // in f\n"
        "  match (%t) {\n    C(%h, _) => %h,\n    N => {\n      0\n    },\n  }\n}\n\n"
        "extern def @g: fn (int32) -> int32\n\n// the end\n"
    )


def test_ends_of_lines_that_end_bindings_get_signs() -> None:
    text = "def @main(%x: float32) {\n  let %y = mul(%x, %x) // square\n  %y\n}\n"
    assert lay_out(text) == text.replace("%x) //", "%x); //")


def test_short_names_that_need_lines_keep_them() -> None:
    text = VERSION + "def @main(%x: float32) {\n  let %y=mul(%x, %x)\n  %y\n}\n"
    assert lay_out(text) == text.replace("%y=", "%y = ")


def test_metadata_stays() -> None:
    text = to_text(parse((ROOT / "samples/constants.relay").read_text()))
    assert "#[metadata]" in text
    assert lay_out(text.replace(", ", ",   ", 1)) == text


def test_lowered_functions_stay() -> None:
    text = (ROOT / "tests/golden/parse/lowered_of_a_tuple.relay").read_text()
    offset = text.index("primfn(")
    nest = text[offset : text.index("\n}", offset)]
    assert nest in lay_out(text)


def test_ends_of_lines_of_other_systems() -> None:
    text = VERSION + "// a\ndef @main(%x: float32) {\n  // b\n  %x\n}\n"
    assert lay_out(text.replace("\n", "\r\n")) == text


def test_depth_is_not_limited() -> None:
    deep = VERSION + "def @main(%x: float32) { " + "fn () {" * 3000 + "%x" + "}" * 3000 + " }\n"
    formatted = lay_out(deep)
    assert lay_out(formatted) == formatted
    chain = "free_var %x;\n" + "exp(" * 3000 + "%x" + ")" * 3000 + "\n"
    assert lay_out(chain) == chain


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(IrError, match="expected"):
        lay_out(VERSION + "def @main( { }")
