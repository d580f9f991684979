"""Codes of diagnostics: each is explained, and its example has that very mistake."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from irtool.diagnostics import Code
from irtool.plugin.codes import codes
from irtool.plugin.loading import plugins_kept
from tests.command_line import irtool

pytestmark = pytest.mark.promise("codes")
ALL = list(codes)
LONG = {"E0403"}
"""Codes whose example runs for seconds: three million calls."""
EXAMPLES = [pytest.param(c, marks=() if c.name in LONG else pytest.mark.every_tier, id=c.name) for c in ALL]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with plugins_kept():
        yield


@pytest.mark.parametrize("cls", EXAMPLES)
def test_the_example_of_a_code_has_that_mistake(cls: type[Code], tmp_path: Path) -> None:
    (tmp_path / "example.relay").write_text(cls.example)
    (tmp_path / "plugin.py").write_text(cls.plugin)
    values = {"%s": "example.relay", "%p": "plugin.py", "%t": "out"}
    exit_code, printed, err = irtool(*(re.sub("%[spt]", lambda m: values[m.group()], w) for w in cls.command.split()))
    kind = "warning" if cls.name.startswith("W") else "error"
    assert f"{kind}[{cls.name}]: " in err or f"note[{cls.name}]: " in err, printed + err
    assert (exit_code == 0) == (kind == "warning")


@pytest.mark.parametrize("cls", ALL, ids=lambda c: c.name)
def test_a_code_is_explained(cls: type[Code]) -> None:
    assert re.fullmatch(r"[EW]\d{4}", cls.name)
    first, *_ = (cls.__doc__ or "").split("\n\n")
    assert len(first.split()) >= 4 and first.strip().endswith("."), (
        "the first paragraph names the mistake in a sentence"
    )
    assert cls.example or "%s" not in cls.command


def test_explain_lists_and_explains() -> None:
    listed = irtool("explain")[1]
    assert [line.split()[0] for line in listed.splitlines()] == sorted(c.name for c in ALL)
    page = irtool("explain", "E0104")[1]
    assert page.startswith("E0104: UnknownOperator\n") and "nn.rellu" in page
    assert "shown by: irtool check example.relay" in page
    exit_code, _, err = irtool("explain", "E9999")
    assert exit_code == 2 and "unknown code E9999" in err


@pytest.mark.parametrize("text", ["e0104", "error[E0104]", "[E0104]:", "UnknownOperator", "unknownoperator"])
def test_a_code_is_found_as_it_stands_in_a_message_and_by_its_title(text: str) -> None:
    assert irtool("explain", text)[1] == irtool("explain", "E0104")[1]


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("UnknownOperater", "did you mean UnknownOperator (E0104)?"),
        ("E0I04", "E0104"),
        ("E01O4", "E0104"),
        ("qqqq", "`irtool explain` lists all codes"),
    ],
)
def test_a_code_that_there_is_not(text: str, help: str) -> None:
    exit_code, _, err = irtool("explain", text)
    assert exit_code == 2 and f"unknown code {text}" in err and help in err


def test_json_and_github_records_have_the_code(tmp_path: Path) -> None:
    (tmp_path / "in.relay").write_text(codes.get("E0104").example)
    (record,) = json.loads(irtool("check", "--json", "in.relay")[1])
    assert record["code"] == "E0104"
    assert "title=E0104::unknown operator" in irtool("check", "--format=github", "in.relay")[1]


def test_sarif(tmp_path: Path) -> None:
    """The properties that the schema of SARIF 2.1.0 requires, and places that are in the file."""
    folder = tmp_path / "a folder"
    folder.mkdir()
    text = codes.get("E0104").example
    (folder / "in.relay").write_text(text)
    exit_code, out, _ = irtool("check", "--format=sarif", "a folder/in.relay", "missing.relay")
    assert exit_code == 1
    log = json.loads(out)
    (run,) = log["runs"]
    assert log["version"] == "2.1.0" and run["tool"]["driver"]["name"] == "irtool"
    rules = {r["id"]: r["shortDescription"]["text"] for r in run["tool"]["driver"]["rules"]}
    assert rules.keys() == {r["ruleId"] for r in run["results"]} and all(rules.values())
    first, other = (r["locations"][0]["physicalLocation"] for r in run["results"])
    assert first["artifactLocation"]["uri"] == "a%20folder/in.relay"
    line = text.splitlines()[first["region"]["startLine"] - 1]
    word = line[first["region"]["startColumn"] - 1 : first["region"]["endColumn"] - 1]
    assert word in run["results"][0]["message"]["text"]
    assert other == {"artifactLocation": {"uri": "missing.relay"}}
    (folder / "good.relay").write_text('#[version = "0.0.5"]\ndef @main(%x: float32) { exp(%x) }\n')
    empty = json.loads(irtool("check", "--format=sarif", "a folder/good.relay")[1])
    assert empty["runs"][0]["results"] == []


def test_a_plugin_has_codes_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        '''
from dataclasses import dataclass

from irtool.diagnostics import Code, IrError
from irtool.passes import ModulePass, register_pass
from irtool.plugin import code


@code("ACME1")
class TooLarge(Code):
    """A module that is larger than the board.

    Buy a larger one.
    """

    example = "def @main() { 1 }"
    command = "opt --load own.py --passes=FitsBoard %s"


@register_pass("FitsBoard")
@dataclass(frozen=True)
class FitsBoard(ModulePass):
    """Refuses everything."""

    def transform(self, module, context):
        raise IrError("it is too large", code=TooLarge)
'''
    )
    (tmp_path / "in.relay").write_text(codes.get("E0104").example.replace("rellu", "relu"))
    exit_code, _, err = irtool("opt", "--load", "own.py", "--passes=FitsBoard", "in.relay")
    assert exit_code == 1 and "error[ACME1]: it is too large" in err
    page = irtool("explain", "--load", "own.py", "ACME1")[1]
    assert page.startswith("ACME1: TooLarge\na plug-in, own.py:") and "Buy a larger one." in page
    assert "ACME1  A module that is larger than the board." in irtool("explain", "--load", "own.py")[1]


def test_reading_does_not_depend_on_the_wording_of_messages(tmp_path: Path) -> None:
    """A constructor may be used before its type is defined; a text without that is read once."""
    (tmp_path / "in.relay").write_text(
        '#[version = "0.0.5"]\ndef @main() {\n  let %l = Cons(1, Nil);\n  %l\n}\n\ntype L {\n  Cons(int32, L),\n  Nil,\n}\n'
    )
    assert irtool("check", "in.relay")[0] == 0
