"""What is printed on terminals: colours by one policy, tables that fit, manuals without markup."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from irtool.commands.colour import choose, is_coloured, paint_message, paint_relay
from irtool.commands.manual import for_markdown, for_terminal, wrap
from irtool.commands.tables import show_table
from tests.command_line import irtool
from tests.commands import tables

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
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_, **__: os.terminal_size((80, 24)))
    monkeypatch.setattr("irtool.commands.tables.is_terminal", lambda *_: True)
    narrow = irtool(*command)[1]
    table = [line for line in narrow.splitlines() if "`irtool passes" not in line and "a pipeline, " not in line]
    assert [line for line in table if len(line) > 80] == []
    assert wide.split() and sorted("".join(wide.split())) == sorted("".join(narrow.split()))


def test_tables_on_a_terminal_are_drawn_in_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_, **__: os.terminal_size((100, 24)))
    monkeypatch.setattr("irtool.commands.tables.is_terminal", lambda *_: True)
    monkeypatch.setattr("irtool.commands.manual.is_terminal", lambda *_: True)
    commands = (
        (["ops"], "nn.conv2d", "broadcast"),
        (["passes"], "FuseOps", "level"),
        (["ops", "nn.conv2d"], "attribute", "tuple[int, ...]"),
        (["info", LET], "operator", "sum"),
        (["opt", LET, "--passes=FastMath", "--time-passes", "-o", os.devnull], "FastMath", "infer ms"),
    )
    for words, *texts in commands:
        drawn = [text for text in irtool("--color=always", *words)[1:] if text]
        assert any("\x1b[1m" in text and "\x1b[36m" in text for text in drawn), words
        without = "".join(irtool("--color=never", *words)[1:])
        assert "\x1b" not in without and all(word in without for word in texts)
        if "opt" not in words:  # its numbers differ
            assert [line.rstrip() for line in plain("".join(drawn)).splitlines()] == without.splitlines()
        prose = [line for line in without.splitlines() if not line.startswith((" ", "@"))]
        assert max(map(len, prose), default=0) <= 100 or words == ["passes"]


@pytest.mark.parametrize("words", [["ops"], ["passes"], ["ops", "nn.conv2d"], ["info", LET]])
def test_pipes_get_the_same_plain_text_whatever_is_set(words: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    want = irtool(*words)
    for name, value in (("COLUMNS", "40"), ("FORCE_COLOR", "1"), ("TERM", "dumb")):
        monkeypatch.setenv(name, value)
        assert irtool(*words) == want
    assert "\x1b" not in want[1]


def test_differences_after_passes_are_coloured() -> None:
    words = ("opt", LET, "--passes=FuseOps", "--print-changed=diff")
    code, _, err = irtool("--color=always", *words)
    assert code == 0 and "\x1b[32m+" in err and "\x1b[31m-" in err
    assert "\x1b" not in irtool(*words)[2] and plain(err) == irtool(*words)[2]
    assert "\x1b" not in irtool("--color=always", "opt", LET, "--passes=FuseOps", "--print-changed")[2]


def test_nothing_imports_rich_or_pygments_where_nothing_is_drawn() -> None:
    code = (
        "import sys; from irtool.commands.shell import execute\n"
        "codes = [execute([w]) for w in ('ops', 'passes')]\n"
        "sys.exit(any(codes) or 'rich' in sys.modules or 'pygments' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=False).returncode == 0


def test_paragraphs_of_manuals_are_wrapped_on_terminals() -> None:
    text = "One two three four five\nsix seven.\n\n  what is indented stays as long as it is\n\nShort.\nLines."
    assert wrap(text, 12) == (
        "One two\nthree four\nfive six\nseven.\n\n  what is indented stays as long as it is\n\nShort.\nLines."
    )


def test_blocks_of_code_in_manuals() -> None:
    manual = "Does it.\n\n::\n\n    a\n      ⇒ b\n\nMore, as in::\n\n    c\n\nEnd."
    assert for_markdown(manual) == "Does it.\n\n```\na\n  ⇒ b\n```\n\nMore, as in:\n\n```\nc\n```\n\nEnd."
    assert for_terminal(manual) == "Does it.\n\n    a\n      ⇒ b\n\nMore, as in:\n\n    c\n\nEnd."


def test_no_markup_of_another_kind_is_left() -> None:
    for path in (ROOT / "docs").glob("*.md"):
        assert not [line for line in path.read_text().splitlines() if line.rstrip().endswith("::")], path.name
    assert "::" not in irtool("passes", "FuseOps")[1]


def test_tables_in_windows_of_many_widths() -> None:
    assert "".join(tables.texts()) == tables.FILE.read_text(encoding="utf-8"), "python -m tests.commands.tables"
