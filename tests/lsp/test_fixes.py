"""Suggestions of messages as edits of the text: `irtool.lsp.fixes`, and code actions of the server."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtool.lsp.analysis import analyse
from irtool.lsp.fixes import fixes

HEAD = '#[version = "0.0.5"]\n'


def mended(text: str) -> list[str]:
    """The text after each change that is offered anywhere in it."""
    return [text[: f.start] + f.text + text[f.end :] for f in fixes(analyse(text), 0, len(text))]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("def @main(%x: Tensor[(2), float32]) { nn.rellu(%x) }", ("nn.rellu", "nn.relu")),
        ("def @main(%data: Tensor[(2), float32]) { nn.relu(%dta) }", ("%dta", "%data")),
        ("def @twice(%x: float32) { %x } def @main(%x: float32) { @twise(%x) }", ("@twise", "@twice")),
        ("def @main(%x: Tensor[(2, 2), float32]) { sum(%x, axes=[1]) }", ("axes", "axis")),
        ("def @main(%x: Tensor[(2), half]) { %x }", ("half", "float16")),
        ("type Tree { Leaf, Node } def @main() { Leef }", ("Leef", "Leaf")),
    ],
)
def test_a_likely_name_is_offered(wrong: str, right: tuple[str, str]) -> None:
    assert HEAD + wrong.replace(*right) in mended(HEAD + wrong)


@pytest.mark.parametrize(
    "text",
    [
        "def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }",  # nothing is wrong
        "def @main(%x: Tensor[(2), float32]) { zzqqzz(%x) }",  # nothing is like it
        "def @main(%x: Tensor[(2), float32]) { add(%x, 1) + }",
    ],
)
def test_nothing_is_offered_where_nothing_is_meant(text: str) -> None:
    assert mended(HEAD + text) == []


def test_only_what_is_asked_for() -> None:
    text = HEAD + "def @main(%x: Tensor[(2), float32]) { nn.rellu(nn.tahn(%x)) }"
    first = text.index("nn.rellu")
    offered = fixes(analyse(text), first, first)
    assert "nn.relu" in {f.text for f in offered} and {f.start for f in offered} == {first}


def test_an_editor_gets_them(tmp_path: Path) -> None:
    pytest.importorskip("pygls")
    from tests.lsp.client import URI, Client

    with Client(tmp_path) as client:
        client.open(HEAD + "def @main(%x: float32) { nn.rellu(%x) }\n")
        place = {"line": 1, "character": 27}
        asked = {"textDocument": {"uri": URI}, "range": {"start": place, "end": place}, "context": {"diagnostics": []}}
        offered = client.ask("textDocument/codeAction", asked)
        edits = {a["title"]: a["edit"]["changes"][URI] for a in offered}
        assert [e["newText"] for e in edits["Change to nn.relu"]] == ["nn.relu"]
        assert {a["kind"] for a in offered} == {"quickfix"} and offered[0]["diagnostics"][0]["code"] == "E0104"
        asked["context"] = {"diagnostics": [], "only": ["refactor"]}
        assert client.ask("textDocument/codeAction", asked) == []
