"""`--split-input-file` and `--verify-diagnostics` of `opt` and `check`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import irtool

HEAD = '#[version = "0.0.5"]\n'
GOOD = HEAD + "def @main(%x: Tensor[(2), float32]) {\n  exp(%x)\n}\n"
BAD = HEAD + "def @main(%x: Tensor[(2), float32]) {\n  expp(%x)EXPECTED\n}\n"
SPLIT = "// -----\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(*parts: str, expected: str = "") -> None:
    Path("cases.relay").write_text(SPLIT.join(parts).replace("EXPECTED", expected))


def test_parts_are_modules() -> None:
    write("// About the file.\n", GOOD, GOOD.replace("exp", "tanh"))
    code, out, err = irtool("opt", "cases.relay", "--split-input-file", "--types=none")
    assert (code, err) == (0, "")
    assert out == irtool("opt", "cases.relay", "--split-input-file", "--types=none", "--verify-diagnostics")[1]
    first, second = out.split(SPLIT)
    assert "exp(%x)" in first and "tanh(%x)" in second
    assert irtool("check", "cases.relay")[0] == 1  # one module cannot have two @main


def test_errors_of_all_parts_have_the_lines_of_the_file() -> None:
    write(BAD, GOOD, BAD)
    for command in ("opt", "check"):
        code, out, err = irtool(command, "cases.relay", "--split-input-file")
        assert code == 1 and not out
        assert [line.split(":")[1] for line in err.splitlines() if "E0104" in line] == ["3", "13"]


def test_a_file_is_written_if_all_parts_are_right() -> None:
    write(GOOD, BAD)
    assert irtool("opt", "cases.relay", "--split-input-file", "-o", "out.relay")[0] == 1
    assert not Path("out.relay").exists()
    write(GOOD, BAD, expected="  // ERROR: E0104")
    assert irtool("opt", "cases.relay", "--split-input-file", "--verify-diagnostics", "-o", "out.relay")[0] == 0
    assert "exp(%x)" in Path("out.relay").read_text()


@pytest.mark.parametrize("command", ["opt", "check"])
@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ("  // ERROR: unknown operator", ""),
        ("  // ERROR: /oper.tor expp$/", ""),
        ("", "cases.relay:3: error[E0017]: reported, but not expected: error[E0104]: unknown operator expp"),
        ("  // ERROR: E0105", "cases.relay:3: error[E0017]: expected, but not reported: E0105"),
        ("\n  // ERROR@+1: E0104\n", "cases.relay:5: error[E0017]: expected, but reported on line 3: E0104"),
        ("  // EROR: E0104", "cases.relay:3: error[E0014]: unknown directive EROR: (did you mean ERROR?)"),
        ("  // ERROR: /(/", "cases.relay:3: error[E0014]: /(/ is no regular expression"),
    ],
)
def test_expected_errors(command: str, expected: str, message: str) -> None:
    write(BAD, expected=expected)
    code, _, err = irtool(command, "cases.relay", "--verify-diagnostics")
    assert code == bool(message)
    assert message in err and (message or not err)


def test_errors_of_passes_are_expected_too() -> None:
    call = "nn.correlation(%x, %x, padding=[1, 1, 1, 1])  // ERROR: E0507"
    write(GOOD, HEAD + f"def @main(%x: Tensor[(1, 2, 4, 4), float32]) {{\n  {call}\n}}\n")
    words = ("opt", "-p", "Gradient", "cases.relay", "--split-input-file", "--verify-diagnostics")
    code, out, err = irtool(*words)
    assert (code, err) == (0, "") and out.count("def @main") == 1
    assert irtool("check", *words[3:])[0] == 1  # types alone are right


def test_separators_are_comments_without_the_option() -> None:
    write(BAD, "", expected="  // ERROR: E0104")
    assert irtool("check", "cases.relay", "--verify-diagnostics")[0] == 0


@pytest.mark.parametrize("option", ["--bisect", "--dump-dir=d", "--reproducer=r"])
def test_options_about_one_module(option: str) -> None:
    write(GOOD, GOOD)
    code, _, err = irtool("opt", "cases.relay", "--split-input-file", option)
    assert code == 2 and f"{option.partition('=')[0]}: only for one module, not for parts of a file" in err


def test_models_have_no_parts() -> None:
    Path("m.onnxtxt").write_text(
        '<ir_version: 8, opset_import: ["": 17]>\ng (float[2] x) => (float[2] y) { y = Exp(x) }\n'
    )
    for option in ("--split-input-file", "--verify-diagnostics"):
        code, _, err = irtool("opt", "m.onnxtxt", option)
        assert code == 2 and f"{option} is for Relay text, and m.onnxtxt is a model" in err
