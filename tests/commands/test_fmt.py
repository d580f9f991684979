"""`irtool fmt`: files in place, what is kept, and what is refused."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from tests.command_line import irtool

UGLY = '#[version="0.0.5"]\ndef @main(%x:Tensor[(2),float32]){exp(%x)} // why\n'
NEAT = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) {\n  exp(%x)\n} // why\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def set_stdin(text: str | bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_in_place(folder: Path) -> None:
    (folder / "a.relay").write_text(UGLY)
    (folder / "a.relay").chmod(0o640)
    (folder / "sub").mkdir()
    (folder / "sub/b.relay").write_text(NEAT)
    (folder / "sub/other.txt").write_text(UGLY)
    (folder / ".hidden").mkdir()
    (folder / ".hidden/c.relay").write_text(UGLY)
    assert irtool("fmt", ".") == (0, "formatted ./a.relay\n1 changed, 1 unchanged\n", "")
    assert (folder / "a.relay").read_text() == NEAT
    assert (folder / "a.relay").stat().st_mode & 0o777 == 0o640
    assert (folder / "sub/other.txt").read_text() == UGLY == (folder / ".hidden/c.relay").read_text()
    assert irtool("fmt", "a.relay", "sub") == (0, "0 changed, 2 unchanged\n", "")


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    for words in (["fmt"], ["fmt", "-"]):
        set_stdin(UGLY, monkeypatch)
        assert irtool(*words) == (0, NEAT, "")
    set_stdin(UGLY, monkeypatch)
    assert irtool("fmt", "--check") == (1, "would change <stdin>\n", "")
    set_stdin(NEAT, monkeypatch)
    assert irtool("fmt", "--check") == (0, "", "")


def test_check_writes_nothing(folder: Path) -> None:
    (folder / "a.relay").write_text(UGLY)
    (folder / "b.relay").write_text(NEAT)
    code, out, err = irtool("fmt", "--check", "a.relay", "b.relay")
    assert (code, out, err) == (1, "would change a.relay\n1 would be changed, 1 unchanged\n", "")
    assert (folder / "a.relay").read_text() == UGLY
    assert irtool("fmt", "--check", "b.relay")[0] == 0


def test_diff_writes_nothing(folder: Path) -> None:
    (folder / "a.relay").write_text(UGLY)
    code, out, err = irtool("fmt", "--diff", "a.relay")
    assert (code, err) == (0, "1 would be changed, 0 unchanged\n")
    assert out.startswith("--- a.relay\n+++ a.relay in canonical layout\n@@ ")
    assert "\n+  exp(%x)\n" in out
    assert irtool("fmt", "--diff", "--check", "a.relay")[0] == 1
    assert (folder / "a.relay").read_text() == UGLY
    assert "\x1b[32m+  exp(%x)" in irtool("--color=always", "fmt", "--diff", "a.relay")[1]


def test_a_mistake_in_one_file_leaves_the_others_to_be_done(folder: Path) -> None:
    (folder / "a.relay").write_text("def @main( {\n")
    (folder / "b.relay").write_text(UGLY)
    code, out, err = irtool("fmt", ".")
    assert code == 1 and out == "formatted ./b.relay\n"
    assert err.startswith("./a.relay:1:12: error[E0")
    assert (folder / "a.relay").read_text() == "def @main( {\n"


def test_goldens_keep_what_their_expected_output_depends_on(folder: Path) -> None:
    plain, placed, wrong = (folder / f"{n}.relay" for n in ("plain", "placed", "wrong"))
    plain.write_text("// What it does.\n// RUN: irtool opt --types=none %s\n" + UGLY)
    placed.write_text("// RUN: irtool opt --types=none --spans %s\n" + UGLY)
    wrong.write_text("// RUN: not irtool check %s\ndef @main(%x) { %y }\n")
    assert irtool("test", "--update", ".")[0] == 0
    before = {p: p.read_text() for p in folder.glob("*.expected")}
    code, out, err = irtool("fmt", "-v", ".")
    assert (code, out) == (0, "formatted ./plain.relay\n1 changed, 2 unchanged\n")
    assert "kept ./placed.relay: its expected output depends on its layout\n" in err
    assert "kept ./wrong.relay: it is a golden file with errors in its text\n" in err
    assert plain.read_text() == "// What it does.\n// RUN: irtool opt --types=none %s\n" + NEAT
    assert before == {p: p.read_text() for p in folder.glob("*.expected")}
    assert irtool("test", ".")[0] == 0
    assert irtool("fmt", "--check", ".")[0] == 0


def test_a_text_may_say_that_it_stays(folder: Path) -> None:
    (folder / "a.relay").write_text("// irtool fmt: off\n" + UGLY)
    assert irtool("fmt", "-v", "a.relay")[1:] == (
        "0 changed, 1 unchanged\n",
        "kept a.relay: it says so (irtool fmt: off)\n",
    )


def test_links_are_followed(folder: Path) -> None:
    (folder / "a.relay").write_text(UGLY)
    (folder / "link.relay").symlink_to("a.relay")
    assert irtool("fmt", "link.relay")[0] == 0
    assert (folder / "link.relay").is_symlink() and (folder / "a.relay").read_text() == NEAT


@pytest.mark.robustness("mistakes")
def test_bad_input(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "empty.relay").write_text("")
    (folder / "junk.relay").write_bytes(b"\x00\xff\x80junk" * 50)
    (folder / "net.onnx").write_bytes(b"\x08\x07\x12\x04test:\x02\x0a\x00")
    (folder / "nothing").mkdir()
    for path, message in {
        "missing.relay": "cannot read missing.relay: No such file or directory",
        "empty.relay": "the file is empty",
        "junk.relay": "error",
        "nothing": "there is no .relay file in nothing",
    }.items():
        code, out, err = irtool("fmt", path)
        assert (code, out) == (1, "") and message in err, path
    assert irtool("fmt", "net.onnx")[0] == 1
    assert irtool("fmt", "--chek", "a.relay")[0] == 2
    code, _, err = irtool("fmt", "-", "a.relay")
    assert code == 2 and "standard input (-) is formatted alone" in err


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes anywhere")
def test_a_folder_that_cannot_be_written_to(folder: Path) -> None:
    (folder / "a.relay").write_text(UGLY)
    folder.chmod(0o555)
    try:
        code, _, err = irtool("fmt", "a.relay")
    finally:
        folder.chmod(0o755)
    assert code == 1 and "cannot write a.relay" in err
    assert (folder / "a.relay").read_text() == UGLY


def test_a_file_is_whole_or_as_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from irtool.files import Draft

    (folder / "a.relay").write_text(UGLY)

    def full(self: Draft) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Draft, "close", full)
    code, _, err = irtool("fmt", "a.relay")
    assert code == 1 and "cannot write a.relay: No space left on device" in err
    assert (folder / "a.relay").read_text() == UGLY
    assert os.listdir(folder) == ["a.relay"]


def test_each_case_of_a_golden_file_is_laid_out(tmp_path: Path) -> None:
    path = tmp_path / "a.relay"
    loose, tidy = "def   @main( ) { add(1f,2f) }\n", "def @main() {\n  add(1f, 2f)\n}\n"
    head = "// Sums.\n// RUN: irtool opt -p FoldConstant --types=none %s\n// -----\n"
    path.write_text(f"{head}\n// One.\n{loose}\n// -----\n{loose}")
    assert irtool("test", "--update", path)[0] == 0
    assert irtool("fmt", path)[0] == 0
    assert path.read_text() == f"{head}// One.\n{tidy}// -----\n{tidy}"
    assert irtool("test", path)[0] == irtool("fmt", "--check", path)[0] == 0


def test_errors_keep_their_places(tmp_path: Path) -> None:
    path = tmp_path / "a.relay"
    text = "// RUN: irtool check %s\ndef @main(%x: Tensor[(2), float32], %y: Tensor[(3), float32]) { exp(%x);\n"
    text += "  add(%x, %y) } // ERROR: E03\n"
    path.write_text(text)
    assert irtool("test", path) == (0, "1 passed, 0 failed\n", "")
    code, _, err = irtool("fmt", "-v", path)
    assert code == 0 and irtool("test", path)[0] == 0
    assert "kept" in err or path.read_text() != text
