"""What is printed on terminals: colours by one policy, tables that fit, manuals without markup."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from irtool.commands.colour import choose, is_coloured, paint_message, paint_relay
from irtool.commands.manual import for_markdown, for_terminal
from irtool.commands.tables import show_table
from tests.command_line import irtool

pytestmark = pytest.mark.promise("terminals")
ROOT = Path(__file__).parent.parent.parent
LET = ROOT / "samples" / "let.relay"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    yield
    choose("auto")


@pytest.mark.parametrize(
    ("when", "variables", "on_terminal", "in_pipe"),
    [
        ("auto", {}, True, False),
        ("auto", {"NO_COLOR": "1"}, False, False),
        ("auto", {"NO_COLOR": ""}, True, False),
        ("auto", {"TERM": "dumb"}, False, False),
        ("auto", {"FORCE_COLOR": "1"}, True, True),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        ("never", {"FORCE_COLOR": "1"}, False, False),
        ("always", {"NO_COLOR": "1", "TERM": "dumb"}, True, True),
    ],
)
def test_the_policy(when: str, variables: dict[str, str], on_terminal: bool, in_pipe: bool, monkeypatch) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    choose(when)
    assert (is_coloured(Terminal()), is_coloured(io.StringIO())) == (on_terminal, in_pipe)


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize(
    "words", [["check", "nowhere.relay"], ["opt", LET], ["diff", LET, ROOT / "samples" / "closure.relay"]]
)
def test_commands_obey_it_and_colours_change_no_text(words: list[object]) -> None:
    want = irtool(*words)
    assert irtool("--color=never", *words) == want
    code, out, err = irtool("--color=always", *words)
    assert code == want[0] and (plain(out).strip(), plain(err).strip()) == (want[1].strip(), want[2].strip())
    assert "\x1b[" in out + err
    assert irtool(*words) == want


def test_heads_and_carets_are_painted_and_types_are_dim() -> None:
    painted = paint_message("a.relay:1:2: error: no\n  x = y\n      ^^\nnote: n\nhelp: error: h")
    assert painted.count("\x1b[0m") == 4 and "\x1b[31m\x1b[1merror:" in painted
    line = paint_relay('#[version = "0.0.5"]\ndef @main(%x: int32) { %x /* ty=int32 */ }\n')
    assert re.search(r"\x1b\[02m\s*ty=int32", line) and "%x" in line


def test_tables_wrap_their_last_column_in_a_window_and_nowhere_else() -> None:
    rows = [("name", "what it is"), ("a", "some words " * 12), ("a_name_that_is_longer_than_a_third", "short")]
    assert max(map(len, show_table(rows, (10,), 60).splitlines())) <= 60
    assert show_table(rows, (10,), 60).splitlines()[-2:] == ["a_name_that_is_longer_than_a_third", "      short"]
    assert len(show_table(rows, (10,), 0).splitlines()) == 3


@pytest.mark.parametrize(
    "command", [["ops"], ["passes"], ["passes", "--list-config"], ["passes", "--list-instruments"]]
)
def test_lists_fit_a_terminal_of_80_columns(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    wide = irtool(*command)[1]
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_: __import__("os").terminal_size((80, 24)))
    monkeypatch.setattr("irtool.commands.tables.is_terminal", lambda: True)
    narrow = irtool(*command)[1]
    table = [line for line in narrow.splitlines() if "`irtool passes" not in line and "a pipeline, " not in line]
    assert [line for line in table if len(line) > 80] == []
    assert wide.split() and sorted(wide.split()) == sorted(narrow.split())


def test_blocks_of_code_in_manuals() -> None:
    manual = "Does it.\n\n::\n\n    a\n      ⇒ b\n\nMore, as in::\n\n    c\n\nEnd."
    assert for_markdown(manual) == "Does it.\n\n```\na\n  ⇒ b\n```\n\nMore, as in:\n\n```\nc\n```\n\nEnd."
    assert for_terminal(manual) == "Does it.\n\n    a\n      ⇒ b\n\nMore, as in:\n\n    c\n\nEnd."


def test_no_markup_of_another_kind_is_left() -> None:
    for path in (ROOT / "docs").glob("*.md"):
        assert not [line for line in path.read_text().splitlines() if line.rstrip().endswith("::")], path.name
    assert "::" not in irtool("passes", "FuseOps")[1]
