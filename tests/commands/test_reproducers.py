"""Reproducers: wherever irtool fails, the file that it leaves shows the same failure again, by itself, anywhere."""

from __future__ import annotations

import functools
import importlib
import io
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool.driver
import irtool.infer
import irtool.ir.structural
import irtool.printer
from irtool.driver.session import Session
from irtool.passes.fuse_ops import FuseOps
from irtool.plugin.loading import plugins_kept
from tests.command_line import irtool as command

pytestmark = pytest.mark.promise("reproducers")

NET = '#[version = "0.0.5"]\n// RUN: irtool opt %s\ndef @main(%x: Tensor[(2), float32], %w: Tensor[(2), float32]) { exp(add(%x, %w)) }\n'
FAIL = functools.partial({}.__getitem__, "what only a bug of irtool looks for")
"""Raises, and no line of a file from outside is to blame."""

INTERPRETER = importlib.import_module("irtool.interp.evaluate")
BUGS: dict[str, tuple[Any, str]] = {
    "printer": (irtool.printer, "to_text"),
    "inference": (irtool.infer, "infer_types"),
    "interpreter": (INTERPRETER, "evaluate"),
    "build": (Session, "build"),
    "graph": (irtool.driver, "graph_json"),
    "equality": (irtool.ir.structural, "structural_equal"),
    "pass": (FuseOps, "transform"),
}
COMMANDS = {
    "printer": ["opt net.relay -o out.relay", "opt -p FuseOps net.relay", "opt --dump-dir=d -p FuseOps -", "opt -- net.relay"],
    "inference": ["info net.relay", "info other.relay net.relay"],
    "interpreter": ["run net.relay --inputs arrays.npz --input x=x.npy -qo out.npz", "run --input x=x.npy net.relay"],
    "build": ["build net.relay --params arrays.npz -o out -O2", "run --via=c net.relay", "build -oout -qO2 net.relay"],
    "graph": ["build net.relay --graph=g.json --no-cache", "build --graph g.json -o o net.relay --report r.json --no-cache"],
    "equality": ["diff net.relay other.relay", "diff net.relay net.relay", "check --round-trip other.relay net.relay"],
    "pass": [
        "opt --passes=FuseOps net.relay",
        "opt -O3 net.relay --reproducer kept.relay",
        "build net.relay --no-cache --disable-pass=FoldConstant --pass-config relay.FuseOps.max_depth=3",
        "opt --load own.py -p Own,FuseOps --func ma net.relay",
        "run --via=c net.relay -p FuseOps",
    ],
}  # fmt: skip
OWN = """from dataclasses import dataclass
import beside
from irtool.passes import FunctionPass, register_pass

@register_pass("Own")
@dataclass(frozen=True)
class Own(FunctionPass):
    \"\"\"Does nothing.\"\"\"

    def transform(self, function, module, context):
        return beside.same(function)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder, elsewhere = tmp_path / "here", tmp_path / "tmp"
    folder.mkdir()
    elsewhere.mkdir()
    (folder / "net.relay").write_text(NET)
    (folder / "other.relay").write_text(NET.replace("exp", "log"))
    (folder / "own.py").write_text(OWN)
    (folder / "beside.py").write_text("def same(x):\n    return x\n")
    np.savez(folder / "arrays.npz", w=np.ones(2, "float32"))
    np.save(folder / "x.npy", np.ones(2, "float32"))
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TMPDIR", str(elsewhere))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", None)
    with plugins_kept():
        yield folder


@pytest.mark.parametrize(("bug", "line"), [(bug, line) for bug, lines in COMMANDS.items() for line in lines])
def test_the_file_shows_the_failure_by_itself(
    bug: str, line: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name = BUGS[bug]
    monkeypatch.setattr(owner, name, FAIL)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(NET.encode())))
    with plugins_kept():
        code, _, err = command(*shlex.split(line))
    assert code == 3, err
    errors = err.splitlines()
    note = next(text for text in errors if text.startswith("note: reproducer written to "))
    path = Path(note.rpartition(" to ")[2]).absolute()
    run_line, comment, *rest = path.read_text().splitlines()
    assert run_line.startswith("// RUN: irtool ") and run_line.count("%s") >= 1
    assert str(folder) not in run_line
    assert "other" not in run_line or line.startswith("diff")
    assert comment.startswith("// irtool 0.1.0 said: ")
    assert not any("RUN:" in text for text in rest)
    moved = tmp_path / "moved"
    shutil.move(path.parent if path.parent != folder else _only(path), moved)
    shutil.rmtree(folder)
    monkeypatch.chdir(moved)
    code, out, _ = command("test", moved / path.name)
    assert code == 1, out
    assert "RUN 1: exit code 3" in out and errors[0] in out, out
    assert not [p for p in moved.iterdir() if p.suffix in (".out", ".json") or p.name in ("out", "d", "o")]


def _only(path: Path) -> Path:
    """A folder with nothing but the reproducer that was asked for by name."""
    alone = path.parent.parent / "alone"
    alone.mkdir()
    return shutil.copy(path, alone / path.name).parent


def test_constants_beside_the_text_come_along(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert command("opt", "net.relay", "--params=arrays.npz", "--constants=external", "-o", "big.relay")[0] == 0
    monkeypatch.setattr(INTERPRETER, "evaluate", FAIL)
    code, _, err = command("run", "big.relay")
    assert code == 3
    path = Path(err.splitlines()[-1].rpartition(" to ")[2])
    assert (path.parent / "big.relay.npz").is_file()
    for file in folder.iterdir():
        file.unlink()
    assert "RUN 1: exit code 3" in command("test", path)[1]


def test_what_can_be_written_nowhere_is_not_spoken_of(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(INTERPRETER, "evaluate", FAIL)

    def refuse(**_: object) -> str:
        raise OSError("the disk is full")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    code, _, err = command("run", "net.relay")
    assert code == 3 and "a bug in irtool" in err and "reproducer" not in err
