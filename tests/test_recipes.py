"""Recipes of package managers and builds of others: they are well formed, and say what pyproject.toml says."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

import irtool

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DEPENDENCIES = dict(re.fullmatch(r"([a-z]+)>=([\d.]+)", d).groups() for d in PROJECT["dependencies"])  # type: ignore[union-attr]
VERSION = irtool.__version__.partition(".dev")[0]


def read_yaml(path: str) -> Any:
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((ROOT / path).read_text())


def checked(program: str, *words: str) -> None:
    """Runs a linter, if it is installed."""
    if shutil.which(program) is not None:
        run = subprocess.run([program, *words], cwd=ROOT, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stdout + run.stderr


def test_dockerfile() -> None:
    lines = (ROOT / "packaging/Dockerfile").read_text().replace("\\\n", " ").splitlines()
    words = [line.split() for line in lines if line and not line.startswith("#")]
    assert words[0][0] == "FROM" and re.fullmatch(r"python:3\.\d+-[a-z-]+", words[0][1])
    assert words[-2] == ["ENTRYPOINT", '["irtool"]'] and any(w[0] == "USER" for w in words)
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    for copied in (name for w in words if w[0] == "COPY" for name in w[1:-1]):
        assert (ROOT / copied).exists() and f"!{copied}" in ignored
    (extras,) = re.findall(r"/src\[([a-z0-9,]+)\]", " ".join(lines))
    assert set(extras.split(",")) <= PROJECT["optional-dependencies"].keys()
    checked("hadolint", "packaging/Dockerfile")


def test_github_action() -> None:
    action = read_yaml("action.yml")
    assert action["runs"]["using"] == "composite" and action["name"] and action["description"]
    for step in action["runs"]["steps"]:
        assert "uses" in step or ("run" in step and "shell" in step)
        assert "${{" not in step.get("run", ""), "an expression in a script is a way in for others' text"
    text = (ROOT / "action.yml").read_text()
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == action["inputs"].keys()
    assert all(set(i) <= {"description", "default", "required"} for i in action["inputs"].values())
    assert set(action["inputs"]["extras"]["default"].split(",")) <= PROJECT["optional-dependencies"].keys()
    assert f"irtool@v{VERSION}" in text


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_command_of_the_action_keeps_its_words(tmp_path: Path) -> None:
    """Quotes and patterns are the shell's, and a failure fails."""
    step = read_yaml("action.yml")["runs"]["steps"][-1]["run"]
    fake = tmp_path / "irtool"
    fake.write_text('#!/bin/sh\nprintf "<%s>" "$@"\n[ "$1" != fail ]\n')
    fake.chmod(0o755)
    for command, output, code in (("check 'a b' x", "<check><a b><x>", 0), ("fail", "<fail>", 1)):
        environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "RUNNER_TEMP": str(tmp_path), "COMMAND": command}
        run = subprocess.run(["bash", "-e", "-c", step], env=environment, capture_output=True, text=True, check=False)
        assert (run.stdout, run.returncode) == (output, code), run.stderr


def test_conda_recipe() -> None:
    recipe = read_yaml("packaging/conda/recipe.yaml")
    assert recipe["context"]["version"] == VERSION and recipe["about"]["license"] == PROJECT["license"]["text"]
    needs = dict(line.split(" >=") for line in recipe["requirements"]["run"])
    assert needs == {**DEPENDENCIES, "python": PROJECT["requires-python"].removeprefix(">=")}
    assert recipe["build"]["python"]["entry_points"] == [f"irtool = {PROJECT['scripts']['irtool']}"]
    assert (ROOT / "packaging/conda" / recipe["source"]["path"] / "pyproject.toml").exists()


def test_homebrew_formula() -> None:
    text = (ROOT / "packaging/homebrew/irtool.rb").read_text()
    assert f"/irtool-{VERSION}.tar.gz" in text and f'license "{PROJECT["license"]["text"]}"' in text
    assert len(re.findall(r"^(?:class|  def|  test do)\b", text, re.MULTILINE)) == len(
        re.findall(r"^\s*end$", text, re.MULTILINE)
    )
    checked("ruby", "-c", "packaging/homebrew/irtool.rb")


def test_nix_flake() -> None:
    text = (ROOT / "flake.nix").read_text()
    assert f'version = "{VERSION}";' in text
    (listed,) = re.findall(r"dependencies = with pkgs.python3Packages; \[ ([a-z ]+) \];", text)
    assert listed.split() == list(DEPENDENCIES)
    assert all(text.count(a) == text.count(b) for a, b in ("{}", "[]", "()"))
    checked("nix-instantiate", "--parse", "flake.nix")
