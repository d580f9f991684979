"""The version of what is built: that of the tag on the commit, by git; without git, the one in irtool/__init__.py.

The other settings are in pyproject.toml. Wheels and source archives say the version in irtool/__init__.py, too, so that
`irtool --version` reads no metadata.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parent
_LINE = re.compile(r'^__version__ = "(.*)"$', re.MULTILINE)


def written() -> str:
    """The version in the source tree."""
    found = _LINE.search((ROOT / "irtool" / "__init__.py").read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


def version() -> str:
    """`0.2.0` on the tag v0.2.0; `0.3.0.dev4+g1a2b3c4` four commits later, where the source tree is on the way to 0.3.0."""
    if not (ROOT / ".git").exists():  # a git above is another project's
        return written()
    words = ["git", "describe", "--tags", "--long", "--match", "v[0-9]*"]
    try:
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:  # no git
        return written()
    found = re.fullmatch(r"v(\d+(?:\.\d+)*)-(\d+)-g([0-9a-f]+)", done.stdout.strip())
    if found is None:
        return written()
    tag, count, commit = found.groups()
    return tag if count == "0" else f"{written().partition('.dev')[0]}.dev{count}+g{commit}"


def write_version(folder: str) -> None:
    """Says the version in the copy of the package in a folder."""
    path = Path(folder, "irtool", "__init__.py")
    text = _LINE.sub(f'__version__ = "{version()}"', path.read_text(encoding="utf-8"))
    path.unlink()  # it may be a link to the file of the source tree
    path.write_text(text, encoding="utf-8")


class BuildWithVersion(build_py):
    """Copies the package; an editable install uses the source tree as it is."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            write_version(self.build_lib)


class ArchiveWithVersion(sdist):
    """Packs the sources."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        write_version(base_dir)


setup(version=version(), cmdclass={"build_py": BuildWithVersion, "sdist": ArchiveWithVersion})
