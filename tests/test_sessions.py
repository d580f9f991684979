"""The terminal sessions of pages: every command runs, and prints what the page shows."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from irtool.commands import recording
from irtool.commands.sessions import Terminal, excerpt, has_sessions, missing_tools, renew

ROOT = Path(__file__).parent.parent
PAGES = [
    p
    for p in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if has_sessions(p.read_text(encoding="utf-8"))
]


@pytest.mark.every_tier
@pytest.mark.promise("mistakes of newcomers")
@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_a_page_shows_what_is_printed(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert renew(text) == text, f"run python -m irtool.commands.sessions {os.path.relpath(page, ROOT)}"
    if missing := missing_tools(text):
        pytest.skip(f"sessions that need {', '.join(missing)} did not run; the others did")


def test_outputs_are_written_below_their_commands() -> None:
    page = "# A page\n\n```text title=\"a.txt\"\none\ntwo\n```\n\n```console\n$ cat a.txt\nold\n$ printf '\\n\\nx\\n' | \\\n  tail -1\n```\nend\n"
    assert renew(page) == page.replace("old\n", "one\ntwo\n").replace("tail -1\n", "tail -1\nx\n")


def test_a_session_whose_tools_are_missing_stays_as_it_is() -> None:
    page = '```console data-needs="no-such-tool sh json"\n$ no-such-tool\nits output\n```\n\n```console\n$ echo new\nold\n```\n'
    assert missing_tools(page) == ["no-such-tool"]
    assert renew(page) == page.replace("old\n", "new\n")


def test_an_excerpt_goes_from_a_line_like_its_first_to_one_like_its_last() -> None:
    output = ["a", "b", "c 0.17 s", "d", "e", "b", "f"]
    for shown, lines in (
        (["old"], output),
        (["…", "b", "old", "d", "…"], ["…", "b", "c 0.17 s", "d", "…"]),
        (["…", "e", "…"], ["…", "e", "…"]),
        (["…", "b", "f"], ["…", "b", "f"]),
        (["a", "…", "d", "e", "…", "f"], ["a", "…", "d", "e", "…", "f"]),
        (["…", "b", "c … s", "e", "…"], ["…", "b", "c … s", "d", "e", "…"]),
        (["…"], ["…"]),
    ):
        assert excerpt(shown, output) == lines


@pytest.mark.parametrize("shown", [["…", "x", "…"], ["…", "b", "x", "…"], ["…", "f", "a", "…"]])
def test_an_excerpt_that_is_nowhere_is_refused(shown: list[str]) -> None:
    with pytest.raises(ValueError, match="no line is like"):
        excerpt(shown, ["a", "b", "f"])


def test_commands_that_go_wrong_are_refused(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    with pytest.raises(RuntimeError, match="ended with exit code 2"):
        terminal.run("irtool opt --no-such-option")
    with pytest.raises(ValueError, match="a session begins with a command"):
        renew("```console\nno command\n```\n")


def test_the_recorded_session_is_fresh() -> None:
    shown = recording.PLACE.read_text(encoding="utf-8")
    fresh = recording.draw(recording.record())
    assert "".join(recording.texts(shown)) == "".join(recording.texts(fresh)), "run python -m irtool.commands.recording"
    assert "error[E0302]:" in recording.texts(shown) and "@font-face" not in fresh
    assert len(set(re.findall(r"fill: (#\w+)", fresh))) >= 5


def test_the_picture_has_the_lines_to_their_ends() -> None:
    from rich.text import Text

    recorded = recording.record()
    characters = "".join(Text.from_ansi(recorded).plain.split())
    shown = "".join("".join(recording.texts(recording.draw(recorded))).split())
    assert shown.removeprefix("irtool") == characters
