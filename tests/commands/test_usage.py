"""Command lines that are wrong: one sentence, the usage, and what was probably meant; exit code 2."""

from __future__ import annotations

import io
import shlex
import sys
from pathlib import Path

import pytest

import irtool as irtool_package
from tests.command_line import irtool

pytestmark = pytest.mark.promise("mistakes of newcomers")

NET = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { exp(%x) }\n'
MISTAKES = {
    "optt": "error[E0011]: no such command: optt\nusage: irtool [OPTIONS] COMMAND [ARGS]...\nhelp: did you mean opt?\n",
    "help ran": "help: did you mean run?",
    "opt --pases=X n.relay": "error[E0012]: there is no option --pases\nusage: irtool opt [OPTIONS] [FILE]\nhelp: did you mean --passes?",
    "opt --disabled-pass=X n.relay": "help: did you mean --disable-pass?",
    "opt --print-ir-after-all n.relay": "help: did you mean --print-after=all?",
    "build --module-name=x n.relay": "help: did you mean --name?",
    "run -O x n.relay": "error[E0014]: -O takes a whole number from 0 to 4, not 'x'",
    "run -O 7 n.relay": "error[E0014]: -O takes a whole number from 0 to 4, not '7'",
    "run --repeat=0 n.relay": "error[E0014]: --repeat takes a whole number of at least 1, not '0'",
    "run --seed=x n.relay": "error[E0014]: --seed takes a whole number, not 'x'",
    "run --tolerance=x n.relay": "error[E0014]: --tolerance takes a number, not 'x'",
    "opt --types=call n.relay": "error[E0014]: --types takes none, calls or all, not 'call'",
    "build --emit=obj1 n.relay": "help: did you mean obj?",
    "build n.relay n.relay": "error[E0015]: build takes FILE and nothing more, but there is also n.relay",
    "run n.relay x": "help: run irtool run once for each file",
    "check": "error[E0013]: FILES is missing",
    "build": "help: name a file of Relay text, or - for standard input",
    "run --no-random=1 n.relay": "error[E0014]: --no-random takes no value",
    "run --missing-constants=random --no-random n.relay": "error[E0016]: --missing-constants=random makes values",
    "check --shape=x n.relay": "error[E0014]: cannot read the shape 'x'",
    "passes FuseOps --list-config": "error[E0016]: NAME, --tir, --missing, --list-config",
    "opt n.relay -p": "error[E0013]: -p needs a value",
    "run n.relay -o --via=c": "error[E0013]: -o needs a value, but --via is an option\n",
    "run n.relay --sanitize --compare interp,c": "help: if that is the value, write --sanitize=--compare\n",
    "run n.relay --entry --no-random": "error[E0013]: --entry needs a value, but --no-random is an option\n",
    "completion tcsh": "error[E0014]: SHELL takes bash, zsh or fish, not 'tcsh'",
    "opt n.relay -p FuseOpsfuse_opt_level=1 -p FuseOpsb=2": "write --passes='FuseOps{fuse_opt_level=…}'",
    "opt --passes=FuseOpsfuse_opt_level=1 --passes=FuseOpsb=2 n.relay": "shells take braces away",
    "opt -p FuseOpsfuse_opt_level=1 FuseOpsb=2 n.relay": "write --passes='FuseOps{fuse_opt_level=…}'",
    "opt -p InferType,FuseOps --stop-after=99 n.relay": "error: cannot stop after 99 passes: only 1 ran: FuseOps\n",
    "opt -p FuseOps --stop-after=FoldConstant n.relay": "error: cannot stop after pass FoldConstant: only 1 ran: FuseOps\n",
    "opt --stop-after=1 n.relay": "error: cannot stop after 1 passes: no pass ran\n",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "n.relay").write_text(NET)
    return tmp_path


@pytest.mark.robustness("mistakes")
@pytest.mark.parametrize("line", MISTAKES)
def test_mistakes(line: str) -> None:
    code, out, err = irtool(*shlex.split(line))
    assert (code, out) == (2, "")
    assert MISTAKES[line] in err, err


def test_values_may_look_like_options(tmp_path: Path) -> None:
    assert irtool("run", "n.relay", "-o--via=c")[0] == 0 and (tmp_path / "--via=c").exists()
    assert irtool("opt", "-o", "--x", "n.relay")[0] == 0 and (tmp_path / "--x").exists()  # no option of that name
    assert irtool("fmt", "--", "--check")[0] == 1  # a file that does not exist


def test_braces_are_spoken_of_only_where_a_pass_has_that_option() -> None:
    assert "braces" not in irtool("opt", "-p", "FuseOpsfoo", "n.relay")[2]
    assert "braces" not in irtool("opt", "-p", "FuseOpsfoo=1", "n.relay")[2]


def test_help_is_a_command_too() -> None:
    assert irtool("help") == (0, irtool("--help")[1], "")
    code, out, _ = irtool("help", "diff")
    assert code == 0 and out.startswith("Usage: irtool") and "diff [OPTIONS] LEFT RIGHT" in out


def test_opt_reads_what_comes_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(NET.encode())))
    code, out, _ = irtool("opt", "-p", "FuseOps")
    assert code == 0 and "Primitive" in out


def test_opt_without_a_file_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    code, _, err = irtool("opt")
    assert code == 2 and "error[E0013]: FILE is missing" in err and "or - for standard input" in err


def test_test_looks_in_this_folder(folder: Path) -> None:
    code, _, err = irtool("test")
    assert code == 1 and "no file with a `// RUN:` line" in err
    (folder / "g.relay").write_text("// RUN: irtool opt %s\n" + NET)
    assert irtool("test", "--update") == (0, "updated ./g.relay\n1 passed, 0 failed, 1 updated\n", "")
    assert irtool("test")[0] == 0


@pytest.mark.parametrize("text", ["", NET])
def test_an_expected_output_that_nothing_prints_fails(text: str, folder: Path) -> None:
    (folder / "g.relay").write_text("// RUN: irtool opt %s\n" + NET)
    irtool("test", "--update")
    if text:
        (folder / "g.relay").write_text(text)
    else:
        (folder / "g.relay").unlink()
    for words in (("test",), ("test", "--update"), ("test", "g.relay.expected")):
        code, out, _ = irtool(*words)
        assert code == 1 and "nothing prints this: there is no g.relay beside it" in out
    assert irtool("opt", "n.relay")[0] == 0


def test_info_of_several_files(folder: Path) -> None:
    (folder / "m.relay").write_text(NET.replace("exp", "log"))
    one, two = (irtool("info", f)[1] for f in ("n.relay", "m.relay"))
    assert irtool("info", "n.relay", "m.relay") == (0, f"n.relay:\n{one}\nm.relay:\n{two}", "")
    assert irtool("info", "n.relay", "nowhere")[:2] == (1, "")


@pytest.mark.parametrize("types", ["none", "calls", "all"])
def test_spans_are_printed_whatever_types_are(types: str) -> None:
    code, out, _ = irtool("opt", f"--types={types}", "--spans", "n.relay")
    assert code == 0 and "span=n.relay:2:39" in out
    assert ("ty=" in out) == (types != "none")


@pytest.mark.promise("codes")
def test_every_wrong_usage_of_commands_has_a_code() -> None:
    """Wherever a command refuses how it is used, it says by which code."""
    import ast

    folder = Path(irtool_package.__file__).parent / "commands"
    for path in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("UsageError", "click.UsageError"):
                assert any(k.arg == "code" for k in node.keywords), f"{path.name}:{node.lineno}"


@pytest.mark.promise("codes")
def test_no_message_of_click_is_recognised_by_its_wording() -> None:
    path = Path(irtool_package.__file__).parent / "commands" / "usage.py"
    text = path.read_text(encoding="utf-8")
    assert " in error.message" not in text and "match(error.message" not in text and ", error.message" not in text
