"""Nothing from the current folder is executed, whatever the modules there are called, by a command and by the processes that it starts."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import irtool
from irtool.isolation import irtool_command, module_path, python_command

ROOT = Path(irtool.__file__).parent
NET = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) { nn.relu(nn.dense(%x, %w, units=4)) }
"""
GOLDEN = "// RUN: irtool check %s\n" + NET
EARLY = ("__future__", "importlib", "typing")
"""What `irtool/__init__.py` imports: Python has the current folder in front for `python -m irtool` until that is done."""

COMMANDS = {
    "opt": ("opt", "net.relay", "-p", "FoldConstant"),
    "check": ("check", "net.relay"),
    "build to C": ("build", "net.relay", "-o", "out", "--no-cache", "-q"),
    "build with LLVM": ("build", "net.relay", "--target=llvm", "--mcpu=haswell", "--emit=ll", "-o", "out", "--no-cache"),
    "build for a triple": ("build", "net.relay", "--target=llvm{mtriple=x86_64-linux-gnu}", "--emit=ll", "-o", "out"),
    "run": ("run", "net.relay", "--compare=interp,c"),
    "reduce": ("reduce", "net.relay", "-o", "small.relay", "--", "irtool", "check"),
    "tune": ("tune", "net.relay", "--trials=2", "-o", "table.json"),
    "bench": ("bench", "net.relay", "--no-interp"),
    "test": ("test", "-j", "2", "golden"),
    "viz": ("viz", "net.relay", "-o", "net.svg"),
    "export": ("export", "net.relay", "-o", "net.onnx"),
    "ops": ("ops", "nn.relu", "--check"),
    "doctor": ("doctor",),
    "lsp": ("lsp",),
    "fmt": ("fmt", "--check", "net.relay"),
}  # fmt: skip


def names() -> list[str]:
    """Every module that irtool or a process of it might import: those of Python, those that are installed, and irtool."""
    installed = [n for n in packages_distributions() if n.isidentifier()]
    return sorted(
        {*(n for n in sys.stdlib_module_names if n != "sys"), *installed, "irtool", "llvmlite", "onnx", "numpy"}
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "ran").mkdir()
    for name in names():
        (folder / f"{name}.py").write_text(f"open({str(folder / 'ran' / name)!r}, 'w').close()\n")
    (folder / "net.relay").write_text(NET)
    (folder / "golden").mkdir()
    for n in range(3):
        (folder / "golden" / f"{n}.relay").write_text(GOLDEN)
    return folder


def run(command: list[str], place: Path, *, unsafe: bool = False) -> subprocess.CompletedProcess[str]:
    inherited = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONSAFEPATH")}
    environment = {**inherited, "XDG_CACHE_HOME": str(place / "cache"), "CFLAGS": "-O0"}
    if unsafe:
        environment["PYTHONPATH"] = str(ROOT.parent)
    return subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_planted_runs(name: str, place: Path) -> None:
    if "build" in name and not shutil.which("cc"):
        pytest.skip("nothing compiles here")
    # The console script has its own folder in front of the module path; `-P` is the same for the tests.
    program = f"import sys; sys.path.append({str(ROOT.parent)!r}); from irtool.cli import main; main()"
    done = run([sys.executable, "-P", "-c", program, *COMMANDS[name]], place)
    assert done.returncode in (0, 1, 4), done.stderr
    assert not os.listdir(place / "ran")


def test_a_planted_module_would_run(place: Path, tmp_path: Path) -> None:
    """So that the others can fail."""
    copy = tmp_path / "json.py"
    copy.write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    subprocess.run([sys.executable, "-c", "import json"], cwd=tmp_path, check=False)
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["opt", "build with LLVM", "reduce"])
def test_python_m_leaves_the_current_folder(name: str, place: Path, tmp_path: Path) -> None:
    """What Python itself imports to get there cannot be kept from it."""
    folder = tmp_path / "there"
    shutil.copytree(place, folder)
    early = {*EARLY, "irtool", "runpy", "pkgutil"}
    loaded = subprocess.run([sys.executable, "-X", "importtime", "-c", "import runpy, irtool"], cwd=ROOT.parent,
                            capture_output=True, text=True, check=True).stderr  # fmt: skip
    early |= {line.rpartition("|")[2].strip().partition(".")[0] for line in loaded.splitlines()}
    for module in early:
        (folder / f"{module}.py").unlink(missing_ok=True)
    done = run([sys.executable, "-m", "irtool", *COMMANDS[name]], folder, unsafe=True)
    assert done.returncode == 0, done.stderr
    assert not os.listdir(place / "ran")


def test_one_function_starts_every_python() -> None:
    """No other module of irtool names the interpreter."""
    users = []
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in ("executable", "_base_executable"):
                users.append(str(path.relative_to(ROOT)))
    assert set(users) <= {"isolation.py"}, users


def test_the_child_finds_what_its_parent_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(9)\n")
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "own.py").write_text("X = 3\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), str(tmp_path / "beside"), *sys.path])
    done = subprocess.run(python_command("import own, json; print(own.X, sys.argv[1:])", "a b", ""), capture_output=True,
                          text=True, check=True)  # fmt: skip
    assert done.stdout == "3 ['a b', '']\n"
    assert str(ROOT.parent) in module_path() and "" not in module_path() and str(tmp_path) not in module_path()
    assert subprocess.run([*irtool_command(), "--version"], capture_output=True, text=True).stdout.startswith("irtool ")
    monkeypatch.setattr(sys, "executable", "")
    assert irtool_command("check") == []
