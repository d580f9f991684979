"""Names of unknown origin move no cursor: control characters reach neither a terminal nor a comment of what is built."""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path

import pytest

from irtool.backends.interface.comment import comment
from irtool.commands.colour import paint_diff, paint_message
from irtool.commands.streams import Messages, Output
from irtool.isolation import irtool_command
from irtool.visible import visible
from tests.command_line import irtool

HOSTILE = "a\x1b[31mb\x1b]0;title\x07c\u202ed\x9be\x00f\x7fg\u2066h\u2028i\rj"
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028]")
NET = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32]) { nn.relu(%x) }\n'


def test_what_is_visible() -> None:
    assert visible("x\ty\nz é ✓ 漢") == "x\ty\nz é ✓ 漢"
    assert visible("\x1b[0m\x9b\u202e") == r"\x1b[0m\x9b\u202e"
    assert not FORBIDDEN.search(visible(HOSTILE))


@pytest.mark.parametrize("kind", [Output, Messages])
def test_streams_show_numbers_and_keep_own_colours(kind: type[Output], monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    stream = kind(written)
    monkeypatch.setattr(sys, "stdout", stream)
    for text in (HOSTILE, paint_message(f"error: {HOSTILE}"), paint_diff(f"-{HOSTILE}\n+x")):
        stream.write(text)
    got = written.getvalue()
    assert "\x1b[31m" in got and "\x1b[0m" in got  # those of `error` and of the difference
    assert r"a\x1b[31mb\x1b]0;title\x07c\u202ed\x9be\x00f\x7fg\u2066h\u2028i\x0dj" in got
    assert not FORBIDDEN.search(re.sub(r"\x1b\[\d*m", "", got))
    assert "\x1b[31mb" not in got


@pytest.mark.parametrize("words", [("check",), ("opt",), ("info",), ("--color=always", "check"), ("viz",)])
def test_file_names_in_messages(words: tuple[str, ...], tmp_path: Path) -> None:
    import subprocess

    name = "e\x1b[31mX\x1b]0;t\x07\u202e.relay"
    (tmp_path / name).write_text(NET.replace("nn.relu", "nn.relux"))
    done = subprocess.run([*irtool_command(*words), name], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and r"\x1b]0;t\x07\u202e.relay" in done.stderr
    own = re.sub(r"\x1b\[\d*m", "", done.stdout + done.stderr) if "always" in words[0] else done.stdout + done.stderr
    assert not FORBIDDEN.search(own)
    assert "\x1b[31mX" not in done.stderr


@pytest.mark.parametrize("target", ["c", "llvm"])
def test_comments_of_what_is_built(target: str, tmp_path: Path) -> None:
    path = tmp_path / "e\x1b[31mX\u202e\x9b.relay"
    path.write_text(NET)
    emit = "c" if target == "c" else "ll"
    code, _, err = irtool(
        "build", path, f"--target={target}", f"--emit={emit}", "-o", tmp_path / "out", "--name", "net"
    )
    assert code == 0, err
    for file in os.listdir(tmp_path / "out"):
        if file.endswith((".c", ".h", ".ll")):
            assert not FORBIDDEN.search((tmp_path / "out" / file).read_text(encoding="utf-8")), file
    assert not FORBIDDEN.search("\n".join(comment([HOSTILE, "*/ x /* \n y"])))
