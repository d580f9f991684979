"""`@FILE` on the command line: the words of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtool.commands.response_files import expand
from irtool.diagnostics import UsageError
from tests.command_line import irtool

TEXT = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { nn.relu(exp(%x)) }\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.relay").write_text(TEXT)
    return tmp_path


def test_words_are_those_of_a_shell(folder: Path) -> None:
    (folder / "words").write_text("a 'b c'\n\n  d\\ e \"f 'g'\" # h\n")
    assert expand(["x", "@words", "@words", "y"]) == ["x", *["a", "b c", "d e", "f 'g'", "#", "h"] * 2, "y"]


def test_files_in_files(folder: Path) -> None:
    (folder / "outer").write_text("1 @inner 4 @inner")
    (folder / "inner").write_text("2 3")
    assert expand(["@outer", "@inner", "@missing", "@"]) == [*"1234", *"23", *"23", "@missing", "@"]


def test_many_files_in_files_take_no_recursion(folder: Path) -> None:
    for n in range(3000):
        (folder / f"f{n}").write_text(f"@f{n + 1}")
    (folder / "f3000").write_text("end")
    assert expand(["@f0"]) == ["end"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"@mine", "@mine: the file takes in itself"),
        (b"'x", "no closing quotation"),
        (b"\xff\xfe", "is not UTF-8 text"),
    ],
)
def test_mistakes(content: bytes, message: str, folder: Path) -> None:
    (folder / "mine").write_bytes(content)
    with pytest.raises(UsageError, match=message):
        expand(["@mine"])
    code, out, err = irtool("opt", "@mine", "net.relay")
    assert code == 2 and not out and message in err


def test_a_command_line_in_a_file(folder: Path) -> None:
    (folder / "line").write_text("opt --passes=FuseOps --func 'ma.*'\n")
    code, out, err = irtool("@line", "net.relay")
    assert code == 0, err
    assert "Primitive=1" in out
    assert irtool("opt", "--passes=FuseOps", "--func", "@main", "net.relay")[0] == 1  # a name where no file is
