"""Several cases a file: which lines hold for which case, where expected output stands, and what happens to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtool.commands.goldens import golden
from irtool.commands.goldens.cases import read_cases
from irtool.commands.goldens.golden import run_golden
from irtool.commands.goldens.outcome import FAILED, PASSED, SKIPPED, XFAILED
from irtool.commands.goldens.run_line import Ran
from tests.command_line import irtool

RUN = "// RUN: irtool opt -p FoldConstant --types=none %s\n"
LINE = "// -----\n"


def add(number: int) -> str:
    return f"def @main() {{ add({number}f, 1f) }}\n"


def printed(number: int) -> str:
    return f'#[version = "0.0.5"]\ndef @main() -> float32 {{\n  {number + 1}f\n}}\n'


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "a.relay"


def expected(file: Path) -> Path:
    return Path(f"{file}.expected")


def states(file: Path, update: bool = False) -> list[tuple[str, str]]:
    return [(o.state, o.message) for o in run_golden(str(file), update)[0]]


def test_a_head_holds_for_all_cases(file: Path) -> None:
    file.write_text("// About sums.\n" + RUN + LINE + add(1) + LINE + add(2))
    assert irtool("test", "--update", "a.relay") == (0, "updated a.relay\n2 passed, 0 failed, 1 updated\n", "")
    assert expected(file).read_text() == printed(1) + LINE + printed(2)
    assert irtool("test", "-v") == (0, "ok   ./a.relay#1\nok   ./a.relay#2\n2 passed, 0 failed\n", "")


def test_a_case_without_run_lines_takes_those_of_the_first(file: Path) -> None:
    own = "// RUN: irtool check %s\n// RUN: irtool info --format=json %s | irtool test --list %s\n"
    file.write_text(RUN + add(1) + LINE + own + add(2) + LINE + add(3))
    first, second, third = read_cases(str(file))
    assert first.runs == third.runs == (RUN.removeprefix("// RUN: ").strip(),)
    assert second.runs == ("irtool check %s", "irtool info --format=json %s | irtool test --list %s")
    assert (first.line, second.line, third.line) == (1, 4, 8)


def test_what_the_first_part_requires_all_cases_require(file: Path) -> None:
    file.write_text("// REQUIRES: cc\n" + RUN + LINE + "// REQUIRES: onnx, llvm\n" + add(1) + LINE + add(2))
    assert [c.requires for c in read_cases(str(file))] == [("cc", "onnx", "llvm"), ("cc",)]


@pytest.mark.promise("goldens")
def test_messages_have_the_lines_and_the_name_of_the_file(file: Path) -> None:
    file.write_text(
        "// RUN: not irtool check %s\n" + LINE + add(1).replace("add", "ad") + LINE + add(2).replace("add", "foo")
    )
    assert irtool("test", "--update")[0] == 0
    first, second = expected(file).read_text().split(LINE)
    assert "a.relay:3:15: error[E0104]: unknown operator ad\n  def @main() { ad(1f, 1f) }\n" in first
    assert "a.relay:5:15: error[E0104]: unknown operator foo\n" in second
    assert str(file.parent) not in first + second


def test_each_case_is_compared_with_its_part(file: Path) -> None:
    file.write_text(RUN + LINE + add(1) + LINE + add(2) + LINE + add(3))
    expected(file).write_text(printed(1) + LINE + printed(7) + LINE + printed(3))
    first, second, third = states(file)
    assert first == third == (PASSED, "")
    assert second[0] == FAILED and "-  8f\n+  3f" in second[1]
    code, out, _ = irtool("test", "-k", "a.relay#3", "-v")
    assert (code, out) == (0, "ok   ./a.relay#3\n1 passed, 0 failed\n")
    assert irtool("test", "--list")[1] == "./a.relay#1\n./a.relay#2\n./a.relay#3\n"


def test_an_update_of_one_case_leaves_the_others(file: Path) -> None:
    file.write_text(RUN + LINE + add(1) + LINE + add(2) + LINE + add(3))
    expected(file).write_text("by hand\n" + LINE + "wrong\n" + LINE + "also by hand\n")
    assert irtool("test", "--update", "-k", "#2")[0] == 0
    assert expected(file).read_text() == "by hand\n" + LINE + printed(2) + LINE + "also by hand\n"


def test_parts_and_cases_must_be_as_many(file: Path) -> None:
    file.write_text(RUN + LINE + add(1) + LINE + add(2))
    expected(file).write_text(printed(1))
    assert states(file) == [(FAILED, "a.relay.expected has 1 part for 2 cases; --update writes it")] * 2
    code, out, _ = irtool("test", "--update", "-k", "#1")
    assert code == 1 and "case 2 has no output to write" in out
    assert expected(file).read_text() == printed(1)
    assert irtool("test", "--update")[0] == 0
    assert expected(file).read_text() == printed(1) + LINE + printed(2)


def test_where_nothing_is_printed_there_is_no_file(file: Path) -> None:
    file.write_text("// RUN: irtool opt %s -o %t/out.relay\n" + LINE + add(1) + LINE + add(2))
    assert irtool("test", "--update") == (0, "2 passed, 0 failed\n", "")
    assert irtool("test")[0] == 0 and not expected(file).exists()
    expected(file).write_text("old\n" + LINE + "older\n")
    assert irtool("test")[0] == 1
    assert irtool("test", "--update")[0] == 0 and not expected(file).exists()


def test_an_output_that_looks_like_two_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(golden, "run_line", lambda line, place, reports: Ran(f"one\n{LINE}two\n"))
    file.write_text(RUN + LINE + add(1))
    (state,) = states(file, update=True)
    assert state == (FAILED, "a line of the output is // -----; put the case into a file of its own")
    assert not expected(file).exists()
    file.write_text(RUN + add(1))
    assert states(file, update=True) == states(file) == [(PASSED, "")]


class TestExpectedFailures:
    def test_a_failure_is_counted_and_a_pass_is_a_failure(self, file: Path) -> None:
        file.write_text("// XFAIL: sums are wrong\n" + RUN + add(1))
        expected(file).write_text(printed(8))
        assert states(file) == [(XFAILED, "sums are wrong")]
        assert irtool("test", "-v") == (
            0, "ok   ./a.relay: failed as expected: sums are wrong\n0 passed, 0 failed, 1 failed as expected\n", "",
        )  # fmt: skip
        expected(file).write_text(printed(1))
        message = "passes, though XFAIL says that it fails: sums are wrong; remove that line"
        assert states(file) == [(FAILED, message)]
        assert irtool("test")[0] == 1

    def test_a_command_that_fails_is_a_failure(self, file: Path) -> None:
        file.write_text("// XFAIL: no such pass yet\n// RUN: irtool opt -p Foo %s\n" + add(1))
        assert states(file) == [(XFAILED, "no such pass yet")]

    def test_the_right_output_is_written_by_hand(self, file: Path) -> None:
        file.write_text("// XFAIL: sums are wrong\n" + RUN + add(1))
        for words in ((), ("--update",)):
            code, out, _ = irtool("test", *words)
            assert code == 1 and "write the right output of the case with XFAIL into it by hand" in out
        expected(file).write_text(printed(8))
        assert irtool("test", "--update")[0] == 0
        assert expected(file).read_text() == printed(8)

    def test_mistakes_are_none(self, file: Path) -> None:
        file.write_text("// XFAIL: sums are wrong\n// RUNN: x\n" + RUN + add(1))
        assert states(file)[0][0] == FAILED


class TestRequirements:
    def test_a_case_without_them_is_skipped_counted_and_shown(
        self, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        absent_here(monkeypatch)
        file.write_text(RUN + LINE + "// REQUIRES: onnx\n" + add(1) + LINE + add(2))
        expected(file).write_text("never looked at\n" + LINE + printed(2))
        summary = "skip ./a.relay#1: requires onnx, which is not here\n1 passed, 0 failed, 1 skipped\n"
        assert irtool("test") == (0, summary, "")
        assert irtool("test", "--update")[0] == 0
        assert expected(file).read_text() == "never looked at\n" + LINE + printed(2)

    @pytest.mark.parametrize("name", ["bfloat16", "BFloat-16"])
    def test_a_case_with_them_runs(self, name: str, file: Path) -> None:
        pytest.importorskip("ml_dtypes")
        file.write_text(f"// REQUIRES: {name}\n" + RUN + add(1))
        expected(file).write_text(printed(1))
        assert states(file) == [(PASSED, "")]

    def test_an_unknown_one_is_refused(self, file: Path) -> None:
        file.write_text("// REQUIRES: avx521\n" + RUN + add(1))
        ((state, message),) = states(file)
        assert state == FAILED and message.startswith("unknown feature avx521 (did you mean AVX2")

    def test_they_are_listed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        absent_here(monkeypatch)
        code, out, _ = irtool("test", "--features")
        rows = dict(line.split() for line in out.splitlines() if len(line.split()) == 2)
        assert code == 0 and rows["onnx"] == "no" and rows["AVX2"] in ("yes", "no") and rows["cc"] in ("yes", "no")

    def test_a_compiler_that_is_not_there(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        forget(monkeypatch)
        monkeypatch.setenv("CC", "no-such-compiler")
        file.write_text("// REQUIRES: cc, OpenMP, AVX2\n" + RUN + add(1))
        assert states(file) == [(SKIPPED, "requires cc, OpenMP, AVX2, which is not here")]


def absent_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """No extra is installed."""
    from irtool.commands import examination

    forget(monkeypatch)
    monkeypatch.setattr(examination, "_version", lambda name: "")


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was looked at before is looked at again."""
    from irtool.commands.goldens import features

    monkeypatch.setattr(features, "_look", features._look.__wrapped__)


@pytest.mark.robustness("mistakes")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("// RUNS: irtool check %s\n// RUN: irtool check %s\n", "line 1: unknown directive RUNS: (did you mean RUN?)"),
        ("// RUN: irtool check %s\n// XFIAL: x\n", "line 2: unknown directive XFIAL: (did you mean XFAIL?)"),
        ("// RUN: irtool check %s\n// CHECK-NEXT: x\n", "output is compared with all of FILE.expected"),
        ("// RUN: irtool check %s\n// UNSUPPORTED: x\n", "REQUIRES: FEATURE runs a case only where that is there"),
        ("// RUN: irtool check %s\n// FOOBAR: x\n", "known are RUN, ERROR, XFAIL, REQUIRES; a note begins with NOTE:"),
        ("// RUN: irtool check %s\n// XFAIL\n", "a colon is missing: XFAIL: …"),
        ("// RUN irtool check %s\n// RUN: irtool check %s\n", "line 1: a colon is missing: RUN: …"),
        ("// RUN: irtool check %s\n// XFAIL:\n", "XFAIL: says nothing; it takes the reason"),
        ("// RUN:\n// REQUIRES: cc\n", "RUN: says nothing; it takes a command"),
        ("// RUN@any: irtool check %s\n", "RUN takes no place: write RUN: irtool check %s"),
        ("// RUN: irtool check %s\n1f // XFAIL: x\n", "line 2: XFAIL: stands on a line of its own"),
        ("// RUN: irtool check %s\n// XFAIL: x\n// XFAIL: y\n", "there is more than one XFAIL"),
        ("// XFAIL: x\n", "the file has no `// RUN:` line"),
        ("// RNU: irtool check %s\n", "unknown directive RNU: (did you mean RUN?)"),
        ("// RUN: irtool check %s\n// -----\n// -----\n", "line 3: case 1 is empty"),
        ("def @main() { 1f }\n// -----\ndef @main() { 1f }\n// XFAIL: x\n", "case 1 has no `// RUN:` line"),
        ("// XFAIL: x\n// RUN: irtool check %s\n// -----\n1f\n", "line 1: XFAIL: stands in a case, not in the head"),
        ("// RUN: irtool check %s\n// ERROR@foo: x\n", "ERROR@foo: is at no place; write ERROR@+1:"),
        ("// RUN: irtool check %s\n// ERROR@+9: x\n", "ERROR@+9: is about line 11, which is not in this case"),
        ("// RUN: irtool check %s\n// ERROR: x\n", "ERROR: is about the next line with text, but no line follows"),
        ("// RUN: irtool check %s\n// ERROR@any: /x(/\n", "/x(/ is no regular expression"),
    ],
)  # fmt: skip
def test_directives_that_are_wrong(text: str, message: str, file: Path) -> None:
    file.write_text(text)
    code, out, _ = irtool("test")
    assert code == 1 and message in out
    assert irtool("test", "--update")[0] == 1 and not expected(file).exists()


def test_notes_and_strings_are_no_directives(file: Path) -> None:
    text = RUN + "// TODO: more\n// Note: prose\n// A: x\n/* XFAIL: x */\ndef @main() {\n"
    file.write_text(text + "  add(1f, 1f) /* // XFAIL: y */ // see RUN: above\n}\n//RUN: irtool check %s\n")
    (case,) = read_cases(str(file))
    assert not case.mistakes and not case.xfail and len(case.runs) == 2
    file.write_text(RUN + 'def @main(%x: float32) { annotation.compiler_begin(%x, compiler="// XFAIL: z") }\n')
    assert not read_cases(str(file))[0].mistakes


def test_models_have_cases_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnx")
    monkeypatch.chdir(tmp_path)
    model = '<ir_version: 8, opset_import: ["" : 17]>\nf (float[2] x) => (float[2] y) {{ y = {0}(x) }}\n'
    text = (
        "# RUN: irtool check %s\n# -----\n" + model.format("Exp") + "# -----\n# ERROR@any: Foo\n" + model.format("Foo")
    )
    (tmp_path / "m.onnxtxt").write_text(text)
    assert irtool("test", "--update")[1] == "updated ./m.onnxtxt\n2 passed, 0 failed, 1 updated\n"
    assert (tmp_path / "m.onnxtxt.expected").read_text() == "1 file, no errors\n// -----\n"
