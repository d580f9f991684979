"""`irtool doctor`: what is there is said to be there, and what is missing as well."""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from pathlib import Path

import pytest

from irtool.commands import examination
from irtool.extras import install_line
from tests.command_line import irtool

ROOT = Path(__file__).parents[2]


def findings(*words: str) -> tuple[int, dict[str, dict]]:
    code, out, err = irtool("doctor", "--json", *words)
    assert err == ""
    return code, {f["part"]: f for f in json.loads(out)}


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "irtool/builds/key/files").mkdir(parents=True)
    (tmp_path / "irtool/builds/key/files/model.c").write_text("12345")
    code, rows = findings()
    assert code == 0
    assert rows["Python"]["what"].startswith(f"{sys.version_info[0]}.{sys.version_info[1]}.")
    assert rows["C compiler"]["state"] == rows["numpy"]["state"] == "ok"
    assert rows["build cache"]["what"] == f"{tmp_path}/irtool/builds: 1 build, 5 B"
    assert rows["vectors"]["what"].split()[0].isdigit()
    assert all(f["purpose"] for f in rows.values())
    code, out, _ = irtool("doctor")
    assert code == 0 and out.startswith("state") and all(part in out for part in rows)


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    code, rows = findings()
    assert code == 1 and rows["C compiler"]["state"] == "missing"
    assert "OpenMP" not in rows and "instructions" not in rows
    code, out, _ = irtool("doctor")
    assert code == 1 and "help: C compiler: install gcc or clang, or let CC name one\n" in out


def test_a_compiler_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CC", str(broken))
    code, rows = findings()
    assert code == 1 and rows["C compiler"]["help"].endswith("cannot compile an empty program")
    assert rows["OpenMP"]["state"] == rows["sanitizers"]["state"] == "-"


def test_packages_that_are_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examination, "_version", lambda name: "" if name in ("onnx", "rich") else "1.0")
    code, rows = findings()
    assert code == 1 and rows["rich"]["state"] == "missing"
    assert (rows["extra onnx"]["state"], rows["extra onnx"]["help"]) == ("-", install_line("onnx"))


def test_every_extra_is_listed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = {extra: package for extra, package, _ in examination.EXTRAS}
    assert set(project["optional-dependencies"]) - {"dev", "peers"} <= set(listed)
    for extra, package in listed.items():
        assert any(r.replace("-", "_").startswith(package) for r in project["optional-dependencies"][extra])
    needed = {r.split(">")[0] for r in project["dependencies"]}
    assert needed == set(examination._NEEDED)


@pytest.mark.robustness("mistakes")
def test_wrong_usage() -> None:
    assert irtool("doctor", "--format=xml")[0] == 2
    assert irtool("doctor", "x")[0] == 2
