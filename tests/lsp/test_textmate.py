"""The TextMate grammar colours texts as the lexer for Pygments does."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path

import pytest
from pygments.token import Comment, Keyword, Name, Number, String, Text, Token, Whitespace

from irtool.printer.lexer import RelayLexer
from tests.lsp.textmate import Grammar

ROOT = Path(__file__).resolve().parents[2]
GRAMMAR = json.loads((ROOT / "editors/vscode/syntaxes/relay.tmLanguage.json").read_text())
TEXTS = sorted([*ROOT.glob("samples/*.relay"), *ROOT.glob("tests/golden/**/*.relay")])
SCOPES = {
    Comment.Preproc: "meta.preprocessor",
    Comment: "comment",
    Keyword.Declaration: "storage.type.relay",
    Keyword.Constant: "constant.language",
    Keyword.Type: "storage.type.dtype",
    Keyword: "keyword.",
    Number: "constant.numeric",
    String.Escape: "constant.character.escape",
    String: "string",
    Name.Variable.Instance: "variable.other.graph",
    Name.Variable: "variable.other.relay",
    Name.Function: "entity.name.function",
    Name.Attribute: "variable.parameter.attribute",
    Name.Class: "entity.name.type",
    Name.Builtin: "support.",
}


def scope_of(kind: object) -> str:
    """The scope of a kind of token, empty for signs and plain words."""
    while kind is not Token:
        if kind in SCOPES:
            return SCOPES[kind]
        kind = kind.parent
    return ""


def letters(parts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Every character that is no blank, with its scope."""
    return [(c, scope) for text, scope in parts for c in text if not c.isspace()]


@pytest.mark.parametrize("path", TEXTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_texts_are_coloured_alike(path: Path) -> None:
    text = path.read_text()
    tokens = list(RelayLexer(stripnl=False, ensurenl=False).get_tokens(text))
    expected = letters([(t, scope_of(kind)) for kind, t in tokens if kind not in (Whitespace, Text)])
    actual = letters(list(Grammar(GRAMMAR).parts(text)))
    assert len(expected) == len(actual)
    wrong = [
        (c, w, g)
        for (c, w), (_, g) in zip(expected, actual)
        if not g.startswith(w) or (not w and g.startswith("constant"))
    ]
    assert not wrong, [
        f"{''.join(c for c, _, _ in run)!r}: {key}"
        for key, run in ((k, list(r)) for k, r in groupby(wrong, key=lambda x: x[1:]))
    ][:5]


def test_the_extension_is_whole() -> None:
    folder = ROOT / "editors/vscode"
    about = json.loads((folder / "package.json").read_text())
    (language,), (grammar,) = about["contributes"]["languages"], about["contributes"]["grammars"]
    assert (folder / about["main"]).is_file() and (folder / language["configuration"]).is_file()
    json.loads((folder / language["configuration"]).read_text())
    assert (folder / grammar["path"]).is_file() and grammar["scopeName"] == GRAMMAR["scopeName"]
    assert about["contributes"]["configuration"]["properties"]["relay.server.command"]["default"] == ["irtool", "lsp"]
