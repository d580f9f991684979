"""Loading of saved builds: see `saved` for the files and their contents."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..diagnostics import IrError
from ..files import read_bytes, temporary_folder
from .artifact import Artifact
from .entries import read_entry
from .outputs import write_files
from .saved import FORMAT, SUFFIX, VERSION, identity


def load(path: str | os.PathLike[str]) -> Artifact:
    """Opens the output of `build(…, out_dir=…)` or `Artifact.save`: the folder, its `NAME.irtool.json`, or the `NAME.so` beside it.

    Nothing is compiled. Raises IrError if there is no such build, or a file of it is missing or is not as it was written.
    """
    about_path = _description(Path(path))
    about = _read(about_path)
    folder = about_path.parent
    for name, (size, digest) in about["files"].items():
        _check(folder / name, size, digest)
    entries = {n: read_entry(e) for n, e in about["entries"].items()}
    files = [folder / n for n in about["files"]]
    weights = folder / about["weights"] if about["weights"] else None
    library = folder / about["library"]
    backend = about.get("backend", "c")
    artifact = Artifact(about["name"], entries, files, about["report"], library, weights, backend=backend)
    artifact._is_plain = about.get("is_plain", False) is True
    artifact._graph_folder = folder if f"{about['name']}.graph.json" in about["files"] else None
    return artifact


def unpack(files: Mapping[str, bytes]) -> Artifact:
    """The artifact from the result of `contents`, in a temporary folder that lives as long as the artifact."""
    holder = temporary_folder()
    write_files(Path(holder.name), {n: [data] for n, data in files.items()})
    artifact = load(holder.name)
    artifact._holder = holder
    return artifact


def _description(path: Path) -> Path:
    if not path.exists():
        raise IrError(f"cannot load {path}: no such file or folder")
    if path.is_dir():
        descriptions = sorted(path.glob(f"*{SUFFIX}"))
        if not descriptions:
            have = "it holds sources or objects only; build with emit='so'" if list(path.glob("*.[cho]")) else ""
            raise IrError(f"{path} holds no build that can be loaded (no *{SUFFIX})", help=have)
        if len(descriptions) > 1:
            names = ", ".join(f.name for f in descriptions)
            raise IrError(f"{path} holds several builds: name one of {names}")
        return descriptions[0]
    if path.name.endswith(SUFFIX):
        return path
    description = path.with_name(path.name.removesuffix(path.suffix) + SUFFIX)
    if not description.exists():
        raise IrError(f"{path} cannot be loaded: there is no {description.name} beside it")
    return description


def _read(path: Path) -> dict[str, Any]:
    """The description, checked. Raises IrError for a file that is not a description, or has another version."""
    try:
        about = json.loads(read_bytes(path))
    except (OSError, ValueError, RecursionError) as error:
        raise IrError(f"{path} cannot be read: {error}") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise IrError(f"{path} does not describe a build of irtool")
    if about.get("version") != VERSION:
        raise IrError(f"{path} has version {about.get('version')!r}; this irtool reads version {VERSION}")
    if "refused" in about:
        raise IrError(f"{path}: this build cannot be loaded: {about['refused']}")
    try:
        names = [about["library"], *([about["weights"]] if about["weights"] else []), *about["files"]]
        if any(os.path.basename(n) != n for n in names) or not set(names) <= about["files"].keys():
            raise ValueError("names of files")
        for e in about["entries"].values():
            read_entry(e)
        for n in about["entries"]:
            about["report"]["entries"][n]["run"]
        if not isinstance(about["report"]["arena_bytes"], int) or not isinstance(about["name"], str):
            raise TypeError("report")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise IrError(f"{path} is damaged ({type(error).__name__}: {error})") from None
    return about


def _check(path: Path, size: Any, digest: Any) -> None:
    if not path.is_file():
        raise IrError(f"{path} is missing: the build is not complete")
    if identity(path) != [size, digest]:
        raise IrError(f"{path} is not the file that was built: its size or its contents differ")
