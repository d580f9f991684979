"""The page on plug-ins: its file and its module, as they stand there, go through every command that it shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


SWISH, NET = blocks("python")[0], blocks("relay")[0]
COMMANDS = [line for line in blocks("sh")[0].splitlines() if line]


def irtool(folder: Path, *words: str, path: tuple[Path, ...] = ()) -> subprocess.CompletedProcess[str]:
    """One command in a process of its own, in that folder."""
    where = os.pathsep.join(map(str, (*path, ROOT)))
    return subprocess.run(
        [sys.executable, "-m", "irtool", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": where, "CFLAGS": "-O1", "XDG_CACHE_HOME": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A folder with the page's files."""
    (tmp_path / "swish.py").write_text(SWISH, encoding="utf-8")
    (tmp_path / "net.relay").write_text(NET, encoding="utf-8")
    return tmp_path


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder of installed packages that has the page's file as the distribution `swish 1.0`."""
    folder = tmp_path / "site"
    info = folder / "swish-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "swish.py").write_text(SWISH, encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: swish\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[irtool.plugins]\nswish = swish\n")
    return folder


SAYS = {
    "check": "no errors",
    "opt -p MakeSwish": "my.swish(%1, beta=2f)",
    "opt -p FirstOrderGradient": "(Tensor[(2, 8), float32], (Tensor[(2, 8), float32], Tensor[(8, 8), float32]))",
    "opt -p ToMixedPrecision": "my.swish(%4, beta=2f) /* ty=Tensor[(2, 8), float16]",
    "run": "interp and c agree",
    "build": "1 kernel,",
    "info": "my.swish",
    "diff": "equal",
    "ops my.swish --check": "2 of 2 cases hold",
    "ops": "sigmoid(beta * x)",
    "passes MakeSwish": "in either order of the factors",
    "passes CountSwish": "each pass left behind",
}


def expected(command: str) -> str:
    words = [w for w in shlex.split(command)[1:] if w not in ("--load", "swish.py", "net.relay")]
    return next(text for key, text in SAYS.items() if words[: len(key.split())] == key.split())


@pytest.mark.promise("plug-ins")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_page_takes_the_file(command: str, page: Path) -> None:
    done = irtool(page, *shlex.split(command)[1:])
    assert done.returncode == 0, done.stderr
    assert expected(command) in done.stdout
    if "CountSwish" in command and "opt" in command:
        assert "swish: 2 after MakeSwish" in done.stderr


@pytest.mark.promise("plug-ins")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_page_finds_what_is_installed(command: str, page: Path, installed: Path) -> None:
    (page / "swish.py").unlink()
    words = shlex.split(command.replace(" --load swish.py", ""))[1:]
    done = irtool(page, *words, path=(installed,))
    assert done.returncode == 0, done.stderr
    messages = [line for line in done.stderr.splitlines() if not line.startswith("note: ")]
    assert not messages or "CountSwish" in command
    assert expected(command) in done.stdout


@pytest.mark.promise("plug-ins")
def test_goldens_take_what_is_loaded(page: Path) -> None:
    golden = page / "golden.relay"
    golden.write_text("// RUN: irtool opt --load swish.py -p MakeSwish %s\n// RUN: not irtool check %s\n" + NET)
    assert irtool(page, "test", "--update", "golden.relay").returncode == 0
    written = Path(f"{golden}.expected").read_text(encoding="utf-8")
    assert "my.swish(%0)" in written
    assert "unknown operator my.swish" in written  # a line has what it loads itself, and nothing of the line before
    golden.write_text("// RUN: irtool opt -p MakeSwish %s\n" + NET)
    assert irtool(page, "test", "--load", "swish.py", "--update", "golden.relay").returncode == 0


@pytest.mark.promise("plug-ins")
def test_python_finds_what_is_installed(page: Path, installed: Path) -> None:
    code = (
        "import irtool; m = irtool.parse(open('net.relay').read()); a = irtool.run_passes(m, 'MakeSwish')\n"
        "assert irtool.to_text(a).count('my.swish') == 2; print(irtool.passes.MakeSwish.__name__)"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), str(ROOT)])}
    done = subprocess.run([sys.executable, "-c", code], cwd=page, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "MakeSwish\n"), done.stderr


@pytest.mark.promise("plug-ins")
def test_the_gradient_of_the_page_is_right(page: Path) -> None:
    import irtool as api
    from irtool.plugin.loading import plugins_kept

    with plugins_kept():
        api.load_plugins(page / "swish.py")
        text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(5), float64]) { my.swish(%x, beta=2f) }'
        module = api.run_passes(api.parse(text), "FirstOrderGradient")
        x = np.linspace(-2, 2, 5)
        _, (slope,) = api.evaluate(module, [x])
        step = 1e-6
        swish = [(v / (1 + np.exp(-2 * v))) for v in (x - step, x + step)]
        np.testing.assert_allclose(slope, (swish[1] - swish[0]) / (2 * step), rtol=1e-6)


def distribute(folder: Path, name: str, text: str) -> None:
    """Puts a distribution with one module, which it declares as a plug-in, into a folder of packages."""
    info = folder / f"{name}-2.5.dist-info"
    info.mkdir(parents=True)
    (folder / f"{name}.py").write_text(text, encoding="utf-8")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.5\n")
    (info / "entry_points.txt").write_text(f"[irtool.plugins]\n{name} = {name}\n")


@pytest.mark.promise("plug-ins")
def test_what_is_installed_and_broken_hinders_nobody_who_does_not_need_it(page: Path, installed: Path) -> None:
    distribute(installed, "broken_hens", "import not_there\n")
    plain = page / "plain.relay"
    plain.write_text('#[version = "0.0.5"]\ndef @main(%x: float32) { exp(%x) }\n')
    done = irtool(page, "check", "plain.relay", path=(installed,))
    assert (done.returncode, done.stderr) == (0, "")  # not even looked for
    warning = "warning: the plug-in broken_hens of broken_hens 2.5 cannot be loaded: "
    done = irtool(page, "check", "net.relay", path=(installed,))
    assert done.returncode == 0
    assert done.stderr.startswith(warning)
    assert "broken_hens.py:1: ModuleNotFoundError: No module named 'not_there'" in done.stderr
    plain.write_text('#[version = "0.0.5"]\ndef @main(%x: float32) { my.hen(%x) }\n')
    done = irtool(page, "check", "plain.relay", path=(installed,))
    assert done.returncode == 1
    assert done.stderr.startswith(warning)
    assert "unknown operator my.hen" in done.stderr
    done = irtool(page, "passes", path=(installed,))
    assert done.returncode == 0
    assert "MakeSwish" in done.stdout
    assert done.stderr.startswith(warning)


@pytest.mark.promise("plug-ins")
def test_installed_plug_ins_can_be_left_out(page: Path, installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRTOOL_NO_PLUGINS", "1")
    done = irtool(page, "check", "net.relay", path=(installed,))
    assert done.returncode == 1 and "unknown operator my.swish" in done.stderr


@pytest.mark.promise("plug-ins")
def test_what_is_installed_changes_no_operator_of_irtool(page: Path, tmp_path: Path) -> None:
    distribute(
        tmp_path / "lib",
        "other_relu",
        SWISH.replace('"my.swish", "data"', '"nn.relu", "data", override=True').replace("MakeSwish", "MakeOther"),
    )
    done = irtool(page, "ops", "nn.relu", path=(tmp_path / "lib",))
    assert (done.returncode, done.stderr) == (0, "")
    assert "sigmoid" not in done.stdout
    done = irtool(page, "passes", "MakeOther", path=(tmp_path / "lib",))
    assert done.returncode == 2
    assert "an installed plug-in cannot take the place of irtool's own operator" in done.stderr
    assert "unknown pass MakeOther" in done.stderr


@pytest.mark.promise("plug-ins")
def test_nothing_is_looked_for_where_nothing_is_missing(page: Path, installed: Path) -> None:
    (page / "plain.relay").write_text('#[version = "0.0.5"]\ndef @main(%x: float32) { exp(%x) }\n')
    code = (
        "import sys\nfrom irtool.cli import run\n"
        "assert run(['opt', '-p', 'FastMath,FuseOps', 'plain.relay']) == 0\n"
        "assert 'importlib.metadata' not in sys.modules and 'swish' not in sys.modules"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), str(ROOT)])}
    done = subprocess.run([sys.executable, "-c", code], cwd=page, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("form", ["dist-info", "egg-info", "egg", "wheel"])
def test_installed_plug_ins_of_every_form_are_imported(form: str, tmp_path: Path) -> None:
    """As folders of metadata beside the module, as a folder that is an egg, and in a wheel on the search path."""
    info = {"egg": "EGG-INFO"}.get(form, f"hens-1.0.{'dist-info' if form == 'wheel' else form}")
    files = {
        "hens.py": "",
        f"{info}/{'METADATA' if 'dist' in info else 'PKG-INFO'}": "Metadata-Version: 2.1\nName: hens\nVersion: 1.0\n",
        f"{info}/entry_points.txt": "[irtool.plugins]\nhens = hens\n",
    }
    place = tmp_path / {"egg": "hens.egg", "wheel": "hens-1.0-py3-none-any.whl"}.get(form, "site")
    if form == "wheel":
        with zipfile.ZipFile(place, "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
    else:
        for name, text in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
    assert "hens" in modules_of_plugins(str(place))


def test_metadata_of_distributions_without_plug_ins_is_not_parsed(tmp_path: Path) -> None:
    info = tmp_path / "ducks-1.0.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text("[console_scripts]\nducks = ducks:main\n")
    assert "importlib.metadata" not in modules_of_plugins(str(tmp_path))


def modules_of_plugins(path: str) -> list[str]:
    """The modules of a Python that has looked for installed plug-ins."""
    code = "import sys; from irtool.plugin.loading import load_installed; load_installed(); print(*sys.modules)"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([path, str(ROOT)])}
    return subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    ).stdout.split()


def test_a_file_that_is_loaded_is_run_as_it_is_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although it has the size and the second of what it was before; and nothing is left beside it."""
    from irtool.plugin.loading import load_plugins, plugins_kept

    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path / "own.py"
    with plugins_kept():
        for value in (1, 2):
            path.write_text(f"import sys\nsys.irtool_own = {value}\n")
            os.utime(path, (1e9, 1e9))
            load_plugins(path)
            assert sys.irtool_own == value  # type: ignore[attr-defined]  # the file sets it
        del sys.irtool_own  # type: ignore[attr-defined]  # as above
    assert [p.name for p in tmp_path.iterdir()] == ["own.py"]
