"""`irtool new`: the package that it writes passes its own tests once it is installed; names that cannot be used are refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from irtool.commands.templates import package
from tests.command_line import irtool

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A program in that folder, with what is installed in `site` beside it."""
    path = os.pathsep.join([str(folder.parent / "site"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.promise("plug-ins")
def test_the_package_passes_its_tests_once_it_is_installed(folder: Path) -> None:
    code, out, err = irtool("new", "pass", "DropPairs")
    assert (code, err) == (0, "")
    assert out == (
        "wrote drop-pairs:\n  README.md\n  drop_pairs.py\n  goldens/drop_pairs.relay\n  goldens/drop_pairs.relay.expected\n"
        "  pyproject.toml\n  tests/test_drop_pairs.py\nnext: cd drop-pairs && pip install -e '.[test]' && pytest\n"
    )
    project = folder / "drop-pairs"
    install = ("-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-build-isolation")
    done = python(project, *install, "--target", str(folder / "site"), ".")
    assert done.returncode == 0, done.stderr
    os.rename(project / "drop_pairs.py", project / "away.txt")  # it is the installed one that is tested
    test = ("-m", "pytest", "-p", "irtool.pytest_plugin", "-p", "no:cacheprovider", "-q")
    done = python(project, *test)
    assert done.returncode == 0, done.stdout
    assert "6 passed" in done.stdout
    done = python(project, "-m", "irtool", "passes", "DropPairs")
    assert done.returncode == 0 and "negative(negative(%x))" in done.stdout
    installed = folder / "site" / "drop_pairs.py"
    installed.write_text(installed.read_text().replace('"negative") and', '"nothing") and'))
    done = python(project, *test)
    assert done.returncode == 1 and "2 failed" not in done.stdout and "3 failed" in done.stdout


def test_the_code_that_it_writes_is_in_order(folder: Path) -> None:
    assert irtool("new", "pass", "KeepPairs", "-o", "some/where")[0] == 0
    assert irtool("test", "--load", "some/where/keep_pairs.py", "some/where") == (0, "4 passed, 0 failed\n", "")
    assert irtool("fmt", "--check", "some/where")[0] == 0
    for words in (("ruff", "check"), ("mypy", "--strict")):
        pytest.importorskip(words[0])
        done = python(folder, "-m", *words, "some/where/keep_pairs.py", "some/where/tests/test_keep_pairs.py")
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.promise("plug-ins")
@pytest.mark.parametrize(
    ("kind", "name", "count", "listing", "word"),
    [("operator", "HardSwash", 3, "ops", "hard_swash(%x, offset=1f)"), ("backend", "MyDevice", 1, "backends", "sizes")],
)
def test_operators_and_backends(kind: str, name: str, count: int, listing: str, word: str, folder: Path) -> None:
    """Their own tests pass, they are in order, and commands list them."""
    assert irtool("new", kind, name, "-o", "it")[0] == 0
    (module,) = [p.stem for p in (folder / "it").glob("*.py")]
    plugins = ("-p", "irtool.pytest_plugin", "-p", "no:cacheprovider")
    (folder / "site").mkdir()
    load = folder / "it" / "conftest.py"
    load.write_text(f"from irtool.plugin.loading import load_plugins\nload_plugins('{module}.py')\n")
    done = python(folder / "it", "-m", "pytest", "-q", *plugins, "tests")
    assert done.returncode == 0, done.stdout
    load.unlink()
    assert irtool("test", "--load", f"it/{module}.py", "it") == (0, f"{count} passed, 0 failed\n", "")
    assert irtool("fmt", "--check", "it")[0] == 0
    code, out, _ = irtool(listing, "--load", f"it/{module}.py", module)
    assert code == 0 and word in out
    if kind == "operator":
        assert irtool("ops", module, "--check", "--load", f"it/{module}.py")[0] == 0
    for words in (("ruff", "check"), ("mypy", "--strict")):
        pytest.importorskip(words[0])
        done = python(folder, "-m", *words, f"it/{module}.py", f"it/tests/test_{module}.py")
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.robustness("mistakes")
@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("operator", "Add", "there is an operator add already; irtool ops add describes it"),
        ("backend", "Llvm", "there is a backend llvm already; irtool backends llvm describes it"),
        ("backend", "Json", "the backend Json would be in a module json"),
        ("operator", "my_op", "help: did you mean MyOp?"),
    ],
)
def test_names_of_other_kinds_that_are_refused(kind: str, name: str, message: str, folder: Path) -> None:
    code, out, err = irtool("new", kind, name)
    assert (code, out) == (2, "") and err.startswith("error[E0014]: ") and message in err
    assert not list(folder.iterdir())


@pytest.mark.robustness("mistakes")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("FuseOps", "there is a pass FuseOps already"),
        ("Timing", "there is a pass Timing already"),
        ("Json", "in a module json, and there is one already"),
        ("Irtool", "in a module irtool, and there is one already"),
        ("my_pass", "help: did you mean MyPass?"),
        ("my.pass", "help: did you mean MyPass?"),
        ("3x", "'3x' is not a name like MyPass"),
        ("Päss", "is not a name like MyPass"),
        ("None", "the name None is a word of Python"),
        ("../X", "is not a name like MyPass"),
        ("", "is not a name like MyPass"),
    ],
)
def test_names_that_are_refused(name: str, message: str, folder: Path) -> None:
    code, out, err = irtool("new", "pass", name)
    assert (code, out) == (2, "") and err.startswith("error[E0014]: ") and message in err
    assert not list(folder.iterdir())


@pytest.mark.robustness("mistakes")
def test_wrong_usage(folder: Path) -> None:
    for words in ((), ("pass",), ("frontend", "X"), ("operator",), ("pass", "X", "Y"), ("pass", "X", "-o")):
        assert irtool("new", *words)[0] == 2
    assert not list(folder.iterdir())


@pytest.mark.robustness("faults")
def test_nothing_is_half_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "there").mkdir()
    (folder / "file").write_text("mine")
    for target in ("there", "file"):
        code, _, err = irtool("new", "pass", "DropPairs", "-o", target)
        assert (code, err) == (1, f"error[E0002]: {target} exists; name another folder with -o\n")
    assert irtool("new", "pass", "DropPairs", "-o", "file/below")[0] == 1
    assert (folder / "file").read_text() == "mine"

    def fail(draft: str, files: object) -> None:
        Path(draft, "half").write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(package, "_write", fail)
    code, _, err = irtool("new", "pass", "DropPairs")
    assert (code, err) == (1, "error[E0002]: cannot write drop-pairs: No space left on device\n")
    assert sorted(p.name for p in folder.iterdir()) == ["file", "there"]
