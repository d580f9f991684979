"""ERROR lines: where they stand, what they match, and that each error is expected once."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtool.commands.goldens.golden import run_golden
from tests.command_line import irtool

HEAD = "// RUN: irtool check %s\ndef @main(%x: float32) {\n"


def result(folder: Path, text: str, name: str = "a.relay") -> str:
    """What is wrong; empty if the file passes. Expected output is not needed."""
    path = folder / name
    path.write_text(text)
    ((outcome,), is_written) = run_golden(str(path), update=True)
    assert not is_written
    return outcome.message


@pytest.mark.promise("goldens")
@pytest.mark.parametrize(
    "body",
    [
        "  foo(%x)  // ERROR: unknown operator foo",
        "  // ERROR: unknown operator foo\n  foo(%x)",
        "  // ERROR: unknown operator foo\n\n  // a comment\n  foo(%x)",
        "  // ERROR@+1: E0104\n  foo(%x)",
        "  foo(%x)\n  // ERROR@-1: error[E0104]",
        "  foo(%x) // ERROR: /unknown \\w+ fo{2}$/",
        "  // ERROR: foo\n  // ERROR: bar\n  add(foo(%x), bar(%x))",
        "  add(foo(%x),  // ERROR: foo\n    bar(%x))  // ERROR: bar",
        "  // ERROR@any: foo\n  foo(%x)",
        "  nn.reluu(%x)  // ERROR: did you mean nn.relu",
    ],
)
def test_errors_where_they_are_expected(body: str, tmp_path: Path) -> None:
    assert result(tmp_path, f"{HEAD}{body}\n}}\n") == ""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("  // ERROR: foo\n  %x", "exit code 0, though it should fail"),
        ("  foo(%x)  // ERROR: bar", "line 3: expected, but not reported: bar\nline 3: reported, but not expected: error[E0104]: unknown operator foo"),
        ("  // ERROR: foo\n  %0 = add(%x, %x);\n  foo(%0)", "line 4: expected, but reported on line 5: foo"),
        ("  // ERROR: foo\n  add(foo(%x), bar(%x))", "line 4: reported, but not expected: error[E0104]: unknown operator bar"),
        ("  // ERROR: foo\n  // ERROR: foo\n  foo(%x)", "line 5: expected, but not reported: foo"),
        ("  // ERROR: /^unknown/\n  foo(%x)", "line 4: expected, but not reported: /^unknown/"),
        ("  // ERROR@any: bar\n  foo(%x) // ERROR: foo", "anywhere: expected, but not reported: bar"),
    ],
)  # fmt: skip
def test_what_is_said_of_others(body: str, message: str, tmp_path: Path) -> None:
    got = result(tmp_path, f"{HEAD}{body}\n}}\n")
    assert got.startswith("RUN 1: ") and message in got


def test_a_place_in_another_file_is_none_here(tmp_path: Path) -> None:
    (tmp_path / "b.relay").write_text("def @main(%x: float32) { foo(%x) }\n")
    text = "// RUN: irtool check b.relay\n// ERROR{0}: foo\n1f\n"
    assert "expected, but reported not in this file: foo" in result(tmp_path, text.format(""))
    assert result(tmp_path, text.format("@any")) == ""


def test_wrong_usage_is_in_no_line(tmp_path: Path) -> None:
    text = "// RUN: irtool opt -p FuseOp %s\n// ERROR@any: did you mean FuseOps\ndef @main() { 1f }\n"
    assert result(tmp_path, text) == ""


def test_every_run_line_must_report_them(tmp_path: Path) -> None:
    lines = "// RUN: irtool check %s\n// RUN: not irtool opt -p FuseOps %s\n"
    case = "def @main(%x: float32) {\n  foo(%x)  // ERROR: foo\n}\n"
    assert result(tmp_path, lines + case) == ""
    message = result(tmp_path, lines + "// RUN: irtool passes FuseOps\n" + case)
    assert message.startswith("RUN 3: exit code 0, though it should fail\nFuseOps")


def test_messages_are_output_only_where_it_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.relay"
    path.write_text(
        '// RUN: irtool check %s 2>&1\n#[version = "0.0.5"]\ndef @main(%x: float32) {\n  foo(%x)  // ERROR: foo\n}\n'
    )
    assert irtool("test", "--update", path)[0] == 0
    assert (tmp_path / "a.relay.expected").read_text().startswith("a.relay:4:3: error[E0104]: unknown operator foo\n")


def test_cases_keep_their_lines(tmp_path: Path) -> None:
    case = "def @main(%x: float32) {\n  foo(%x)  // ERROR: foo\n}\n"
    path = tmp_path / "a.relay"
    path.write_text("// RUN: irtool check %s\n// -----\n" + case + "// -----\n" + case + "// -----\n" + case)
    assert irtool("test", path) == (0, "3 passed, 0 failed\n", "")


def test_a_bug_in_irtool_is_no_error_to_expect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from irtool.commands import shell

    def fail(words: object) -> int:
        print("a.relay:2:1: error: a bug in irtool")
        return 3

    monkeypatch.setattr(shell, "execute", fail)
    message = result(tmp_path, "// RUN: irtool check %s\n1f  // ERROR: a bug\n")
    assert message.startswith("RUN 1: exit code 3")
