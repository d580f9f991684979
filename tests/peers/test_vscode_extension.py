"""The extension for Visual Studio Code is packed by the tool that packs extensions, as docs/editors.md says."""

from __future__ import annotations

import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

EDITORS = Path(__file__).parents[2] / "docs" / "editors.md"
EXTENSION = Path(__file__).parents[2] / "editors" / "vscode"


@pytest.mark.skipif(shutil.which("npm") is None or shutil.which("npx") is None, reason="needs npm")
def test_the_extension_packs(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    if not pytestconfig.getoption("--peers"):
        pytest.skip("only with --peers")
    folder = shutil.copytree(EXTENSION, tmp_path / "vscode", ignore=shutil.ignore_patterns("node_modules", "*.vsix"))
    line = re.search(r"^cd editors/vscode && (npm install) && (npx @vscode/vsce package) &&", EDITORS.read_text(), re.M)
    assert line is not None
    installed = subprocess.run(line[1].split(), cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if installed.returncode:
        pytest.skip(f"the registry of npm cannot be reached: {installed.stderr[-200:]}")
    words = line[2].split()
    packed = subprocess.run(
        [words[0], "--yes", *words[1:]], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert packed.returncode == 0, packed.stdout + packed.stderr
    (archive,) = folder.glob("relay-*.vsix")
    names = set(zipfile.ZipFile(archive).namelist())
    expected = ["package.json", "extension.js", "LICENSE.txt", "readme.md", "syntaxes/relay.tmLanguage.json"]
    assert {f"extension/{n}" for n in expected} <= names
    assert any(n.startswith("extension/node_modules/vscode-languageclient/") for n in names)
