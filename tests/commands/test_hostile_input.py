"""What a hostile or careless user hands to the commands: one message, the right exit code, no traceback."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from irtool.cli import run

ROOT = Path(__file__).parent.parent.parent
CONSTANTS = ROOT / "samples" / "constants.relay"
SIMPLE = ROOT / "samples" / "simplenet.relay"
VERSION = '#[version = "0.0.5"]\n'

OWN = '''
from dataclasses import dataclass
from irtool.passes.core.base import ModulePass, register_pass


@register_pass("{0}ReturnsNothing")
@dataclass(frozen=True)
class ReturnsNothing(ModulePass):
    """Forgets to return."""

    def transform(self, module, context):
        return None


@register_pass("{0}Hen", required=("{0}Egg",))
@dataclass(frozen=True)
class Hen(ModulePass):
    """Comes from an egg."""

    def transform(self, module, context):
        return module


@register_pass("{0}Egg", required=("{0}Hen",))
@dataclass(frozen=True)
class Egg(Hen):
    """Comes from a hen."""
'''


def irtool(*arguments: object) -> tuple[int, str, str]:
    """Exit code, output and messages of a command that runs in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run([str(a) for a in arguments])
    assert "Traceback" not in err.getvalue()
    return code, out.getvalue(), err.getvalue()


def test_constants_beside_the_text_are_read_back(tmp_path: Path) -> None:
    text = tmp_path / "net.relay"
    assert irtool("opt", CONSTANTS, "--constants=external", "-o", text)[0] == 0
    assert "b64ndarrays" not in text.read_text()
    assert (tmp_path / "net.relay.npz").exists()
    assert irtool("diff", CONSTANTS, text)[:2] == (0, "equal\n")
    assert irtool("run", text)[1] == irtool("run", CONSTANTS)[1]
    assert irtool("check", "--round-trip", text)[::2] == (0, "")


def test_constants_beside_the_text_that_are_gone_or_others(tmp_path: Path) -> None:
    text, weights_path = tmp_path / "net.relay", tmp_path / "net.relay.npz"
    irtool("opt", CONSTANTS, "--constants=external", "-o", text)
    arrays = dict(np.load(weights_path))
    np.savez(weights_path, **{name: a[:1] for name, a in arrays.items()})
    code, _, err = irtool("opt", text)
    assert code == 1
    assert "relay.Constant[0] is Tensor[(2, 1, 3, 3), float32] here, but float32[1, 1, 3, 3]" in err
    weights_path.write_text("no archive")
    assert irtool("opt", text)[0] == 1
    weights_path.unlink()
    code, _, err = irtool("opt", text)
    assert code == 0
    assert "net.relay.npz, which is not there" in err


def test_a_text_does_not_name_constants_elsewhere(tmp_path: Path) -> None:
    text = tmp_path / "net.relay"
    text.write_text(VERSION + "def @main() { 1 }\n/* The values of the constants are in ../../etc/passwd. */\n")
    assert irtool("run", text)[:2] == (0, "out0: int32[]  1\n")


@pytest.mark.parametrize("how", ["zeros", "random", "param"])
def test_missing_constants(tmp_path: Path, how: str) -> None:
    path = tmp_path / "cut.relay"
    constant = "meta[relay.Constant][3] /* ty=Tensor[(2), float32] */"
    path.write_text(
        VERSION + f"def @f(%x: Tensor[(2), float32]) {{ add(%x, {constant}) }}\n"
        f"def @main(%x: Tensor[(2), float32]) {{ multiply(@f(%x), {constant}) }}\n"
    )
    np.savez(tmp_path / "in.npz", x=np.array([1, 2], "float32"))
    options = ["--inputs", tmp_path / "in.npz"]
    if how == "param":
        np.savez(tmp_path / "in.npz", x=np.array([1, 2], "float32"), constant3=np.array([3, 4], "float32"))
    code, out, _ = irtool("run", path, f"--missing-constants={how}", *options)
    assert code == 0
    if how != "random":
        assert out == {"zeros": "out0: float32[2]  0 0\n", "param": "out0: float32[2]  12 24\n"}[how]
    code, _, err = irtool("run", path, "--inputs", tmp_path / "in.npz")
    assert code == 1
    assert "meta[relay.Constant][3] is missing" in err


@pytest.mark.parametrize(
    "options",
    [
        ["--disable-pass=FuseOp"],
        ["--require-pass=FuseOp"],
        ["--print-after=FuseOp"],
        ["--print-before=all,FuseOp"],
        ["--stop-after=FuseOp"],
    ],
)
def test_a_name_of_no_pass_is_refused_wherever_it_stands(options: list[str]) -> None:
    code, out, err = irtool("opt", "-O1", *options, SIMPLE)
    assert (code, out) == (2, "")
    assert "did you mean FuseOps?" in err


def elsewhere(*arguments: object) -> tuple[int, str]:
    """Exit code and messages of a command in a process of its own: what it registers must not stay."""
    words = [sys.executable, "-m", "irtool", *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


def test_passes_of_ones_own_that_are_wrong(tmp_path: Path) -> None:
    own, reproducer = tmp_path / "own.py", tmp_path / "failing.relay"
    own.write_text(OWN.replace("{0}", "Wrong"))
    code, err = elsewhere("opt", "--load", own, "-p", "WrongReturnsNothing", f"--reproducer={reproducer}", SIMPLE)
    assert code == 1
    assert f"in the plug-in {own}:11, pass WrongReturnsNothing: transform returned None, not a Module" in err
    assert "bug in irtool" not in err
    assert reproducer.read_text().startswith("// RUN: irtool opt --passes=WrongReturnsNothing --load=")
    code, err = elsewhere("opt", "--load", own, "--passes=WrongHen", SIMPLE)
    assert code == 2
    assert "WrongHen → WrongEgg → WrongHen" in err
    own.write_text(OWN.replace("{0}ReturnsNothing", "FuseOps").replace("{0}", "Other"))
    code, err = elsewhere("opt", "--load", own, SIMPLE)
    assert code == 1
    assert "the name FuseOps is taken by irtool's own pass" in err


def test_places_that_nothing_can_be_written_to_or_read_from(tmp_path: Path) -> None:
    nowhere = tmp_path / "no" / "x.relay"
    code, _, err = irtool("opt", CONSTANTS, "--constants=external", "-o", nowhere)
    assert code == 1
    assert "cannot write" in err
    code, _, err = irtool("opt", CONSTANTS, "--params", tmp_path)
    assert code == 1
    assert "Is a directory" in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_no_bug_of_ours() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "irtool", "opt", str(SIMPLE)], stdout=full, stderr=subprocess.PIPE, cwd=ROOT
        )
    assert done.returncode == 1
    assert b"cannot write to standard output" in done.stderr


def test_a_reader_that_goes_away_is_no_error() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "irtool", "passes"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    )
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")


def test_functions_in_functions_as_deep_as_may_be(tmp_path: Path) -> None:
    path = tmp_path / "deep.relay"
    path.write_text(VERSION + "def @main(%x: float32) { " + "fn () {" * 5000 + "%x" + "}" * 5000 + " }\n")
    assert irtool("check", path)[:2] == (0, "1 file, no errors\n")


def test_elided_constants_beside_other_metadata_read_back(tmp_path: Path) -> None:
    from irtool.ir import Constant, DimVar, Function, Module, TensorType, Tuple, Var
    from irtool.parser import parse
    from irtool.printer import to_text

    x = Var("x", TensorType((DimVar("n", "int32", False),), "float32"))
    module = Module({"main": Function((x,), Tuple((x, Constant(np.ones((2, 3), "float32")))))})
    text = to_text(module, constants="elide")
    assert to_text(parse(to_text(parse(text)))) == to_text(parse(text))


def test_recursion_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from irtool.interp import machine

    monkeypatch.setattr(machine, "_DEEPEST", 10_000)
    path = tmp_path / "endless.relay"
    path.write_text(VERSION + "def @main(%x: int32) -> int32 { %0 = @main(add(%x, 1)); add(%0, 1) }\n")
    code, _, err = irtool("run", path)
    assert code == 1
    assert "endless.relay:2:38: error[E0403]: more than 10,000 calls wait" in err


@pytest.mark.promise("large texts")
@pytest.mark.parametrize("size", ["1000", "1k", "0.5KB", "0.0001M"])
def test_the_size_of_texts_is_limited_where_the_command_line_says_so(
    size: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "large.relay"
    path.write_text(VERSION + "def @main() { () }\n" + "// a comment\n" * 100)
    assert run(["check", str(path)]) == 0
    assert run(["--max-size=1G", "check", str(path)]) == 0
    assert run([f"--max-size={size}", "opt", str(path)]) == 1
    err = capsys.readouterr().err
    assert "large.relay has more than " in err and "bytes, which --max-size allows" in err
    assert run(["--max-size", "many", "check", str(path)]) == 2
    assert "'many' is not a size; write for example" in capsys.readouterr().err


def test_unknown_nodes_are_reported_in_every_format() -> None:
    for style in ("text", "json", "github"):
        code, out, _ = irtool("check", "--partial", f"--format={style}", SIMPLE)
        assert code == 0
        assert "shape_num_unknown_nodes=0 dtype_num_unknown_nodes=0" in out


def test_passes_of_ones_own_by_entry_point(tmp_path: Path) -> None:
    (tmp_path / "hens.py").write_text(OWN.replace("{0}", "Installed"))
    info = tmp_path / "hens-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hens\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[irtool.plugins]\nhens = hens\n")
    done = subprocess.run(
        [sys.executable, "-m", "irtool", "passes", "InstalledReturnsNothing"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Forgets to return." in done.stdout


def test_a_lowered_function_is_not_run(tmp_path: Path) -> None:
    lowered = tmp_path / "l.relay"
    assert irtool("opt", "-p", "FuseOps,LabelOps,LowerTE", SIMPLE, "-o", lowered)[0] == 0
    name = next(line for line in lowered.read_text().splitlines() if "primfn" in line).split("@")[1].split()[0]
    code, _, err = irtool("run", f"--entry={name}", lowered)
    assert code == 1
    assert "has been lowered" in err
