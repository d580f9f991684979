"""`irtool reduce`: what it writes shows the bug, bad input is refused, and reproducers name it."""

from __future__ import annotations

import functools
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from irtool.plugin.loading import plugins_kept
from tests.command_line import irtool

PASS = '''"""A pass with a planted bug."""
from dataclasses import dataclass
from irtool.passes import FunctionPass, register_pass
from irtool.ir import Call, post_order

def is_call(e, name):
    return isinstance(e, Call) and getattr(e.op, "name", "") == name

@register_pass("Planted")
@dataclass(frozen=True)
class Planted(FunctionPass):
    """Fails at tanh(exp)."""

    def transform(self, function, module, context):
        for e in post_order(function.body):
            if is_call(e, "tanh") and is_call(e.args[0], "exp"):
                raise KeyError("planted")
        return function
'''
NET = """#[version = "0.0.5"]
def @helper(%y: Tensor[(4, 16), float32]) { tanh(exp(nn.relu(%y))) }

def @main(%x: Tensor[(4, 16), float32]) {
  let %a = nn.relu(%x);
  add(@helper(%a), meta[relay.Constant][0] /* ty=Tensor[(16), float32] */)
}
""".replace("meta[relay.Constant][0] /* ty=Tensor[(16), float32] */", "2f")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "net.relay").write_text(NET)
    (tmp_path / "planted.py").write_text(PASS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with plugins_kept():
        yield tmp_path


def test_a_crash(folder: Path) -> None:
    words = ["reduce", "net.relay", "--load=planted.py", "--passes=default<O1>,Planted", "--expect-crash"]
    code, out, err = irtool(*words)
    assert code == 0, err
    assert out.startswith("// RUN: irtool opt --opt-level=2 --load=planted.py --passes=Planted %s\n")
    assert "  %0 = exp(%" in out and "  tanh(%0)" in out and out.count("def ") == 1
    assert "looking for: KeyError: Planted: transform" in err and " → 2 operators, 1 function, 1 pass, " in err
    assert irtool(*words, "-q", "-o", "small.relay") == (0, "", "")
    assert Path("small.relay").read_text() == out
    assert irtool("opt", "small.relay", "--load=planted.py", "--passes=Planted")[0] == 1


def test_a_text_a_difference_and_a_backend(folder: Path) -> None:
    code, out, err = irtool("reduce", "net.relay", "-p", "FastMath", "--expect-text", "fast_tanh", "-v")
    assert code == 0 and "  tanh(%" in out and "exp" not in out
    assert "\ncalls: " in err or "\ninlined" in err or "\nfunctions" in err
    code, out, _ = irtool("reduce", "net.relay", "-p", "FastMath", "--expect-diff", "--rtol=1e-9", "--atol=0")
    assert code == 0 and "--check-values --passes=FastMath %s" in out
    code, out, _ = irtool("reduce", "net.relay", "--via=c", "-O2", "--expect-diff", "--rtol=1e-12", "--atol=0", "-q")
    assert code == 0 and out.startswith("// RUN: irtool run --compare=interp,c -O2 %s\n")


def test_commands_that_judge(folder: Path) -> None:
    assert "exp(" in irtool("reduce", "net.relay", "-q", "--", "grep", "-q", "exp")[1]
    code, out, _ = irtool("reduce", "net.relay", "-q", "--", "sh", "-c", "test $(grep -c exp {}) = 1")
    assert code == 0 and "RUN" not in out and "  exp(" in out and "tanh" not in out
    assert irtool("reduce", "net.relay", "--timeout=0.2", "--", "sleep", "5")[0] == 1
    code, _, err = irtool("reduce", "net.relay", "--", "./no_such_program")
    assert code == 4 and "could not be run" in err


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("net.relay", 2, "one thing to look for is needed"),
        ("net.relay --expect-crash --expect-diff", 2, "one thing to look for is needed"),
        ("net.relay -p FoldConstant -- true", 2, "a command that judges runs passes itself"),
        ("net.relay -O2 -- true", 2, "a command that judges runs passes itself"),
        ("net.relay --expect-diff -- true", 2, "a command that judges"),
        ("net.relay --expect-text (", 2, "is no regular expression"),
        ("net.relay --expect-crash -p FoldConst", 2, "unknown pass FoldConst"),
        ("net.relay --expect-crash --via=d", 2, "is not one of"),
        ("net.relay --expect-crash --timeout=0", 2, "--timeout"),
        ("net.relay --expect-crash -p FoldConstant", 1, "net.relay is not interesting: nothing fails"),
        ("net.relay --expect-diff -p FoldConstant", 1, "the results are the same"),
        ("net.relay --expect-text xyzzy", 1, "nothing matches"),
        ("net.relay -- false", 1, "the command does not accept it"),
        ("no.relay --expect-crash", 1, "no.relay"),
        (". --expect-crash", 1, "cannot read"),
        ("empty.relay --expect-crash", 1, "empty"),
        ("junk.relay --expect-crash", 1, "error"),
        ("untyped.relay --expect-crash", 1, "error"),
        ("net.relay --expect-text exp -o /no/such/folder/x", 1, "cannot write"),
        ("", 2, "FILE"),
    ],
)
def test_bad_input(line: str, code: int, message: str, folder: Path) -> None:
    Path("empty.relay").write_text("")
    Path("junk.relay").write_bytes(bytes(range(256)))
    Path("untyped.relay").write_text('#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), int32]) { nn.dense(%x, %x) }\n')
    got, out, err = irtool("reduce", *shlex.split(line))
    assert (got, out) == (code, "") and message in err, err


def test_an_interrupt_leaves_nothing(folder: Path) -> None:
    words = [
        sys.executable,
        "-m",
        "irtool",
        "reduce",
        "net.relay",
        "-o",
        "out.relay",
        "--",
        "sh",
        "-c",
        "touch begun; sleep 1",
    ]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    for _ in range(300):
        if Path("begun").exists():
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130 and "Traceback" not in err
    assert not Path("out.relay").exists() and not [p for p in folder.iterdir() if p.name.startswith("irtool-")]


def test_interrupts_reach_programs_of_tests_that_run_in_the_background() -> None:
    """A shell without job control has what it starts with `&` ignore interrupts."""
    own = f"{Path(__file__)}::test_an_interrupt_leaves_nothing"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", own], cwd=Path(__file__).parents[2], text=True,
        capture_output=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN), check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_a_reproducer_says_how_to_make_it_smaller(folder: Path) -> None:
    irtool("opt", "net.relay", "--load=planted.py", "-p", "Planted", "--reproducer=failing.relay")
    line = Path("failing.relay").read_text().splitlines()[2]
    start = "// To make it smaller: irtool "
    assert line.startswith(start + "reduce failing.relay --expect-crash --passes=Planted")
    code, out, err = irtool(*shlex.split(line.removeprefix(start)))
    assert code == 0 and out.count("def ") == 1, err
    assert " → 2 operators, 1 function, 1 pass" in err


def test_a_reproducer_of_a_backend_says_so_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from irtool.driver.session import Session

    monkeypatch.setattr(Session, "build", functools.partial({}.__getitem__, "what only a bug looks for"))
    code, _, err = irtool("build", "net.relay", "-O2", "--no-cache")
    assert code == 3
    path = Path(err.splitlines()[-1].rpartition(" to ")[2])
    line = path.read_text().splitlines()[2]
    assert line == (
        "// To make it smaller: irtool reduce reproducer.relay --expect-crash -- irtool build '{}' -O2 --no-cache -o '{}.out'"
    )


QUANTIZED = """#[version = "0.0.5"]
def @main(%x: Tensor[(?, 4), float32], %w: Tensor[(4, 4), float32], %s: float32) {
  %0 = nn.dense(%x, %w, units=4);
  %1 = multiply(%0, %s);
  nn.relu(tanh(%1))
}
"""
NEGATE = '''"""A pass with a planted bug, which weights show."""
from dataclasses import dataclass
from irtool.passes import FunctionPass, register_pass
import numpy as np
from irtool.ir import Constant, rewrite

@register_pass("Negate")
@dataclass(frozen=True)
class Negate(FunctionPass):
    """Negates scalar constants above 100."""

    def transform(self, function, module, context):
        def leave(old, new):
            wrong = isinstance(new, Constant) and new.data.ndim == 0 and new.data > 100
            return Constant(np.asarray(-new.data)) if wrong else new
        return rewrite(function, leave)
'''


def test_weights_and_shapes_beside_the_text(folder: Path) -> None:
    (folder / "q.relay").write_text(QUANTIZED)
    (folder / "negate.py").write_text(NEGATE)
    np.savez(folder / "q.npz", w=np.eye(4, dtype="float32"), s=np.float32(200))
    line = ["reduce", "q.relay", "--load=negate.py", "--passes=Negate", "--expect-diff"]
    code, out, err = irtool(*line, "--params=q.npz", "--shape=x=2,4")
    assert code == 0, err
    assert "200f" in out and "%w" not in out and "nn.dense" not in out
    code, _, err = irtool(*line, "--params=q.npz")  # nothing to run: the shape is open
    assert code == 1 and "--shape x=" in err and "not interesting" not in err
    code, _, err = irtool(*line, "--shape=x=2,4")  # without the weights, nothing differs
    assert code == 1 and "not interesting: the results are the same" in err
    assert irtool(*line, "--params=q.npz", "--shape=y=2,4")[0] == 1
