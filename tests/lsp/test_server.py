"""The language server as an editor uses it, message by message."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pygls")

from tests.lsp.client import URI, Client, places

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], /* \N{MATHEMATICAL ITALIC SMALL ALPHA} */ %w: Tensor[(4, 3), float32]) {
  %0 = nn.dense(%x, %w, units=4);
  let %y = nn.relu(%0);
  @twice(%y)
}
def @twice(%x: Tensor[(2, 4), float32]) { add(%x, %x) }
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with Client(tmp_path_factory.mktemp("lsp")) as c:
        assert c.open(TEXT) == []
        yield c


@pytest.mark.parametrize(
    "line, character, text",
    [
        (2, 17, "%x: Tensor[(2, 3), float32]"),
        (2, 3, "%0: Tensor[(2, 4), float32]"),
        (3, 20, "%0: Tensor[(2, 4), float32]"),
        (3, 7, "%y: Tensor[(2, 4), float32]"),
        (4, 4, "def @twice: fn (Tensor[(2, 4), float32]) -> Tensor[(2, 4), float32]"),
        (2, 9, "### nn.dense"),
        (1, 49, "%w: Tensor[(4, 3), float32]"),  # the letter in the comment is two units of UTF-16
    ],
)
def test_hover(client: Client, line: int, character: int, text: str) -> None:
    assert text in client.at("hover", line, character)["contents"]["value"]


def test_nothing_is_said_of_nothing(client: Client) -> None:
    assert client.at("hover", 5, 1) is None
    assert client.at("hover", 999, 999) is None
    assert client.at("definition", 5, 1) is None


def test_definitions(client: Client) -> None:
    assert places([client.at("definition", 2, 17)]) == [(1, 10, 1, 12)]
    assert places([client.at("definition", 4, 4)]) == [(6, 4, 6, 10)]
    assert places([client.at("definition", 2, 21)]) == [(1, 48, 1, 50)]
    assert client.at("definition", 2, 9) is None, "operators are defined nowhere"


def test_references(client: Client) -> None:
    everywhere = client.at("references", 6, 47, context={"includeDeclaration": True})
    assert places(everywhere) == [(6, 11, 6, 13), (6, 46, 6, 48), (6, 50, 6, 52)]
    uses = client.at("references", 6, 47, context={"includeDeclaration": False})
    assert places(uses) == places(everywhere)[1:]
    assert len(client.at("documentHighlight", 3, 7)) == 2


def test_renaming(client: Client) -> None:
    edits = client.at("rename", 6, 47, newName="data")["changes"][URI]
    assert [e["newText"] for e in edits] == ["%data"] * 3
    assert places([client.at("prepareRename", 4, 4)]) == [(4, 2, 4, 8)]
    assert {e["newText"] for e in client.at("rename", 4, 4, newName="@double")["changes"][URI]} == {"@double"}


@pytest.mark.parametrize(
    "line, character, name, why",
    [
        (1, 11, "w", "taken"),
        (4, 4, "main", "taken"),
        (2, 9, "nn.conv2d", "operator"),
        (1, 11, "a b", "no name"),
        (2, 3, "%x", "number"),
        (0, 0, "x", "no name here"),
    ],
)
def test_names_that_cannot_be(client: Client, line: int, character: int, name: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        client.at("rename", line, character, newName=name)


def test_types_beside_bindings(client: Client) -> None:
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}}
    hints = client.ask("textDocument/inlayHint", {"textDocument": {"uri": URI}, "range": whole})
    labels = [(h["position"]["line"], h["position"]["character"], h["label"]) for h in hints]
    assert labels == [(2, 4, ": Tensor[(2, 4), float32]"), (3, 8, ": Tensor[(2, 4), float32]")]


def test_outline(client: Client) -> None:
    symbols = client.ask("textDocument/documentSymbol", {"textDocument": {"uri": URI}})
    assert [(s["name"], [c["name"] for c in s["children"]]) for s in symbols] == [
        ("@main", ["%x", "%w", "%y"]),
        ("@twice", ["%x"]),
    ]
    assert places(symbols) == [(1, 4, 5, 1), (6, 4, 6, 55)]


def test_completion_and_diagnostics_while_typing(tmp_path: Path) -> None:
    with Client(tmp_path) as client:
        client.open(TEXT)

        def words(line: int, character: int) -> list[str]:
            return [i["textEdit"]["newText"] for i in client.at("completion", line, character)]

        client.change(TEXT.replace("nn.relu(%0)", "nn.rel"))
        (wrong,) = client.wait_for("textDocument/publishDiagnostics")["diagnostics"]
        assert wrong["code"] == "E0104" and "nn.relu" in wrong["message"] and wrong["source"] == "irtool"
        assert places([wrong]) == [(3, 11, 3, 17)]
        assert "nn.relu" in words(3, 17) and "let" in words(3, 17)
        client.change(TEXT.replace("nn.relu(%0)", "nn.relu(%)"))
        client.wait_for("textDocument/publishDiagnostics")
        assert words(3, 20) == ["%x", "%w", "%0", "%y"], "a function may call itself"
        client.change(TEXT.replace("units=4", "un"))
        client.wait_for("textDocument/publishDiagnostics")
        assert words(2, 26)[:2] == ["units=", "out_dtype="]
        client.change(TEXT.replace("@twice(%y)", "@"))
        client.wait_for("textDocument/publishDiagnostics")
        assert set(words(4, 3)) == {"@main", "@twice"}
        client.change("/* " + TEXT)
        client.wait_for("textDocument/publishDiagnostics")
        assert words(3, 10) == [], "nothing is completed in comments"
        client.change(TEXT)
        assert client.wait_for("textDocument/publishDiagnostics")["diagnostics"] == []


def test_formatting_is_that_of_fmt(tmp_path: Path) -> None:
    with Client(tmp_path) as client:
        client.open("def @main(%x:int32)   { /* kept */ %x }")
        options = {"textDocument": {"uri": URI}, "options": {"tabSize": 2, "insertSpaces": True}}
        (edit,) = client.ask("textDocument/formatting", options)
        done = subprocess.run(
            [sys.executable, "-m", "irtool", "fmt"],
            input="def @main(%x:int32)   { /* kept */ %x }",
            capture_output=True,
            text=True,
        )
        assert edit["newText"] == done.stdout and "/* kept */" in done.stdout
        client.change(edit["newText"])
        assert client.ask("textDocument/formatting", options) == [], "it is laid out by now"
        client.change("def @main(")
        with pytest.raises(ValueError, match="expected"):
            client.ask("textDocument/formatting", options)


def test_changes_are_read_once_typing_stops(tmp_path: Path) -> None:
    with Client(tmp_path) as client:
        client.open(TEXT)
        for n in range(20):
            client.change(TEXT + f"// {n}\n")
        client.change("def @main() { 1 + }")
        published = client.wait_for("textDocument/publishDiagnostics")
        assert published["version"] == client.version and published["diagnostics"]


def test_warnings_and_text_that_is_none(tmp_path: Path) -> None:
    with Client(tmp_path) as client:
        diagnostics = client.open("free_var %x: float32; add(%x, 1f)")
        assert diagnostics and {d["severity"] for d in diagnostics} == {2}
        assert "%x: float32" in client.at("hover", 0, 27)["contents"]["value"]
        client.change("\x00\ud800 ][")
        assert client.wait_for("textDocument/publishDiagnostics")["diagnostics"]
        client.change("")
        client.wait_for("textDocument/publishDiagnostics")
        client.tell("textDocument/didClose", {"textDocument": {"uri": URI}})
        assert client.wait_for("textDocument/publishDiagnostics")["diagnostics"] == []


def test_a_terminal_is_no_client() -> None:
    here, terminal = os.openpty()
    done = subprocess.run([sys.executable, "-m", "irtool", "lsp"], stdin=terminal, capture_output=True, text=True)
    os.close(here)
    os.close(terminal)
    assert done.returncode == 2 and "an editor starts" in done.stderr


def test_without_its_package_it_says_which(tmp_path: Path) -> None:
    (tmp_path / "pygls.py").write_text("raise ModuleNotFoundError(name='pygls')")
    done = subprocess.run(
        [sys.executable, "-m", "irtool", "lsp"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert done.returncode == 2 and "pip install 'pygls>=2'" in done.stderr
    assert not done.stdout


def test_a_client_that_goes_away_ends_it() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "irtool", "lsp"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )
    assert "Traceback" not in done.stderr and not done.stdout


def test_semantic_tokens(client: Client) -> None:
    data = client.ask("textDocument/semanticTokens/full", {"textDocument": {"uri": URI}})["data"]
    kinds = client.capabilities["semanticTokensProvider"]["legend"]["tokenTypes"]
    assert len(data) % 5 == 0 and {"function", "parameter", "number"} <= {kinds[k] for k in data[3::5]}
