"""What is packed: wheel and source archive are whole, and say the same version as everything else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import irtool

ROOT = Path(__file__).resolve().parents[1]


def tracked() -> list[str]:
    """The files of the project, as git has them."""
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("no clone")
    return done.stdout.splitlines()


def test_versions_agree() -> None:
    released = irtool.__version__.partition(".dev")[0]
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited is not None and cited[1] == released
    assert json.loads((ROOT / "editors/vscode/package.json").read_text())["version"] == released
    tags = subprocess.run(
        ["git", "tag", "--points-at", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.split()
    assert all(t == f"v{irtool.__version__}" for t in tags if re.fullmatch(r"v\d+\.\d+\.\d+", t))


def pack(what: str, folder: Path) -> Path:
    """A wheel or a source archive of the files that git has, made by the build backend without the net."""
    copy = folder / "copy"
    for name in tracked():
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
    call = f"from setuptools import build_meta as b; print(b.build_{what}({str(folder)!r}))"
    done = subprocess.run([sys.executable, "-c", call], cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / done.stdout.splitlines()[-1]


def test_the_wheel_has_the_package_and_its_data(tmp_path: Path) -> None:
    wheel = zipfile.ZipFile(pack("wheel", tmp_path))
    names = set(wheel.namelist())
    missing = [f for f in tracked() if f.startswith("irtool/") and f not in names]
    assert not missing
    (metadata,) = (n for n in names if n.endswith(".dist-info/METADATA"))
    description = wheel.read(metadata).decode()
    needed = re.findall(r"^Requires-Dist: ([\w-]+)[^;\n]*$", description, re.MULTILINE)
    assert needed == ["lark", "click", "numpy", "rich"]
    assert any(re.search(r"\.dist-info/(licenses/)?LICENSE$", n) for n in names)
    assert not [n for n in names if n.startswith(("tests/", "benchmarks/"))]


def test_the_source_archive_builds(tmp_path: Path) -> None:
    with tarfile.open(pack("sdist", tmp_path)) as archive:
        names = {n.partition("/")[2] for n in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE"} <= names
    assert not [f for f in tracked() if f.startswith("irtool/") and f not in names]


def git(folder: Path, *words: str) -> None:
    settings = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *settings, *words], cwd=folder, check=True, capture_output=True)


def packed_version(archive: Path) -> str:
    """The version in the package of a wheel or a source archive."""
    if archive.suffix == ".whl":
        text = zipfile.ZipFile(archive).read("irtool/__init__.py").decode()
    else:
        with tarfile.open(archive) as packed:
            (name,) = (n for n in packed.getnames() if re.fullmatch(r"[^/]+/irtool/__init__.py", n))
            file = packed.extractfile(name)
            assert file is not None
            text = file.read().decode()
    match = re.search(r'^__version__ = "(.*)"$', text, re.MULTILINE)
    assert match is not None
    return match[1]


@pytest.mark.parametrize("what", ["wheel", "sdist"])
def test_versions_come_from_tags(what: str, tmp_path: Path) -> None:
    """Without git, from the source tree, which a build leaves as it is."""
    plain = pack(what, tmp_path)
    assert packed_version(plain) == irtool.__version__
    copy = tmp_path / "copy"
    git(copy, "init", "-q")
    git(copy, "add", "pyproject.toml", "setup.py")
    git(copy, "commit", "-qm", "one")
    git(copy, "tag", "v9.8.7")
    source = (copy / "irtool" / "__init__.py").read_text()
    tagged = pack(what, tmp_path)
    assert packed_version(tagged) == "9.8.7" and tagged.name.startswith("irtool-9.8.7")
    git(copy, "commit", "-q", "--allow-empty", "-m", "two")
    later = packed_version(pack(what, tmp_path))
    assert re.fullmatch(rf"{re.escape(irtool.__version__.partition('.dev')[0])}\.dev1\+g[0-9a-f]+", later)
    assert (copy / "irtool" / "__init__.py").read_text() == source


def test_the_extension_for_editors_has_what_packing_asks_for() -> None:
    """What the packing tool refuses: no repository, no licence, relative links, files that the manifest names and that are not there."""
    folder = ROOT / "editors/vscode"
    manifest = json.loads((folder / "package.json").read_text())
    assert manifest["repository"]["directory"] == "editors/vscode" and manifest["publisher"] and manifest["license"]
    assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert not re.search(r"\]\((?!https://)", (folder / "README.md").read_text())
    contributes = manifest["contributes"]
    named = [manifest["main"], *(g["path"] for g in contributes["grammars"])]
    named += [language["configuration"] for language in contributes["languages"]]
    ignored = (folder / ".vscodeignore").read_text().split()
    for file in named:
        assert (folder / file).is_file(), file
        assert not any(Path(file).match(pattern) for pattern in ignored if not pattern.startswith("!")), file


def test_no_text_tells_to_install_from_an_index() -> None:
    """irtool is on no package index: `pip install 'irtool[…]'` and `pip install irtool` find nothing outside a clone."""
    wrong = re.compile(r"pip install (-\S+ )*['\"]?irtool\b")
    read = [
        f for f in tracked() if f.endswith((".py", ".md", ".js", ".template", ".yml")) and not f.startswith("tests/")
    ]
    assert [f for f in read if wrong.search((ROOT / f).read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("extra", ["bfloat16", "distributed", "images", "llvm", "lsp", "onnx", "safetensors"])
def test_an_extra_is_installed_by_its_packages_or_from_a_clone(extra: str) -> None:
    from irtool.extras import install_line

    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"][extra]
    for requirement in declared:
        assert f"'{requirement}'" in install_line(extra)
    assert f"'.[{extra}]' in a clone" in install_line(extra)
