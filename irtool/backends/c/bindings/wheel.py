"""`NAME-VERSION-py3-none-PLATFORM.whl`: a package with the library and the module that calls it, which `pip install` takes."""

from __future__ import annotations

import base64
import hashlib
import keyword
import platform
import re
import sysconfig
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .... import __version__
from ....diagnostics import UsageError
from ...toolchain.compiler import NATIVE_NAMES

_WHEN = (1980, 1, 1, 0, 0, 0)
_MACHINES = {"arm": "armv7l", "i386": "i686"}
"""Names of machines in tags, where these are not those of compilers."""


def check_package(name: str, version: str) -> None:
    """Raises UsageError for a name that Python cannot import, and for a version that packages do not have."""
    if keyword.iskeyword(name):
        raise UsageError(f"{name} is a word of Python, and no package is named so", help="--name")
    if not re.fullmatch(r"\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?", version):
        raise UsageError(f"wheel_version={version!r} is no version of a package, such as 1.0.2")


def platform_tag(triple: str) -> str:
    """The platform of a wheel for code of a compiler, by its target triple. Raises UsageError for a target that no Python runs on."""
    machine = triple.split("-")[0]
    here = platform.machine().lower()
    if not machine or machine == NATIVE_NAMES.get(here, here):
        return re.sub(r"[-.]", "_", sysconfig.get_platform())
    if "linux" not in triple:
        raise UsageError(f"emit=wheel: no platform of Python packages is known for {triple}", help="--emit=so")
    return f"linux_{_MACHINES.get(machine, machine)}"


def write_wheel(folder: Path, name: str, version: str, tag: str, contents: Mapping[str, Iterable[Any]]) -> str:
    """Writes the wheel into a folder and returns its file name. `contents`: the files of the package by name."""
    info = f"{name}-{version}.dist-info"
    metadata = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        f"Summary: the network {name}, compiled by irtool {__version__}",
        "Requires-Python: >=3.9",
        "Requires-Dist: numpy>=1.23",
    ]
    about = [
        "Wheel-Version: 1.0",
        f"Generator: irtool {__version__}",
        "Root-Is-Purelib: false",
        f"Tag: py3-none-{tag}",
    ]
    files: dict[str, Iterable[Any]] = {f"{name}/{file}": parts for file, parts in contents.items()}
    files[f"{name}/py.typed"] = []
    files[f"{info}/METADATA"] = ["\n".join([*metadata, ""]).encode()]
    files[f"{info}/WHEEL"] = ["\n".join([*about, ""]).encode()]
    target = f"{name}-{version}-py3-none-{tag}.whl"
    record = []
    with zipfile.ZipFile(folder / target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, parts in files.items():
            digest, size = hashlib.sha256(), 0
            with archive.open(_entry(path), "w", force_zip64=True) as out:
                for part in parts:
                    content = bytes(part)
                    digest.update(content)
                    size += len(content)
                    out.write(content)
            packed = base64.urlsafe_b64encode(digest.digest()).decode().rstrip("=")
            record.append(f"{path},sha256={packed},{size}")
        archive.writestr(_entry(f"{info}/RECORD"), "\n".join([*record, f"{info}/RECORD,,", ""]))
    return target


def _entry(path: str) -> zipfile.ZipInfo:
    """An entry without a time, so that equal builds are equal files."""
    entry = zipfile.ZipInfo(path, _WHEN)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry
