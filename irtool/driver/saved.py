"""Builds on disk: `NAME.irtool.json` beside a library says what it takes and gives, so that it runs again in another process.

::

    NAME.irtool.json   entries with names, shapes and dtypes; the report; size and SHA-256 of the other files
    NAME.so            the library
    NAME.bin           its weights, where they are in a file of their own
    NAME.graph.json    the graph for the graph executor, and
    NAME.params        its constants: only where `Artifact.save` wrote the folder

`build(…, out_dir=…)` writes the first three. Loading runs code: open what you trust.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..diagnostics import IrError
from ..files import open_file, read_bytes, temporary_folder
from .artifact import Artifact
from .entries import describe_entry, read_entry
from .outputs import write_files

SUFFIX = ".irtool.json"
_FORMAT = "irtool build"
_VERSION = 1


def load(path: str | os.PathLike[str]) -> Artifact:
    """Opens what `build(…, out_dir=…)` or `Artifact.save` wrote: the folder, its `NAME.irtool.json`, or `NAME.so` beside that.

    Nothing is compiled. Raises IrError where there is no such build, or a file of it is missing or is not as it was written.
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
    artifact._kept = folder if f"{about['name']}.graph.json" in about["files"] else None
    return artifact


def describe(artifact: Artifact, folder: Path, names: Iterable[str]) -> bytes:
    """The text of `NAME.irtool.json` for an artifact whose files of these names are in a folder."""
    assert artifact._library_path is not None
    about: dict[str, Any] = {
        "format": _FORMAT,
        "version": _VERSION,
        "name": artifact.name,
        "backend": artifact._backend,
    }
    if any(f.gives_data for f in artifact._entries.values()):
        about["refused"] = "it gives algebraic data, whose constructors are known to the process that built it only"
    else:
        about["entries"] = {n: describe_entry(f) for n, f in artifact._entries.items()}
        about["report"] = {k: v for k, v in artifact.report.items() if k not in ("seconds", "warnings")}
        about["library"] = artifact._library_path.name
        about["weights"] = artifact._weights.name if artifact._weights is not None else ""
        about["files"] = {n: _identity(folder / n) for n in names}
    return (json.dumps(about, indent=1) + "\n").encode()


def save(artifact: Artifact, folder: str | os.PathLike[str]) -> list[str]:
    """Writes an artifact into a folder, for `load`; see `Artifact.save`."""
    files = contents(artifact)
    return [str(p) for p in write_files(Path(folder), {n: [data] for n, data in files.items()})]


def contents(artifact: Artifact) -> dict[str, bytes]:
    """The files that an artifact is saved as, its description last. Raises IrError for one that cannot be saved."""
    if artifact._specializer is not None:
        raise IrError(
            "shapes of this build depend on its inputs: it is compiled when it runs, and there is nothing to save",
            help="build a module of static shapes",
        )
    if artifact._library_path is None:
        raise IrError("this build made no library: only one with emit='so' can be saved and loaded")
    with temporary_folder() as work:
        files: dict[str, bytes] = {}
        for path in filter(None, (artifact._library_path, artifact._weights)):
            try:
                files[path.name] = read_bytes(path)
            except OSError as error:
                raise IrError(f"cannot read {path}: {error.strerror or error}") from None
        try:
            from ..parser.params import encode_params

            files[f"{artifact.name}.params"] = encode_params(artifact.params())
            files[f"{artifact.name}.graph.json"] = artifact.graph_json().encode()
        except IrError:
            files.pop(f"{artifact.name}.params", None)  # no graph stands for it, or it came from the cache
        write_files(Path(work), {n: [data] for n, data in files.items()})
        text = describe(artifact, Path(work), files)
    about = json.loads(text)
    if "refused" in about:
        raise IrError(f"this build cannot be saved: {about['refused']}")
    return {**files, artifact.name + SUFFIX: text}


def unpack(files: Mapping[str, bytes]) -> Artifact:
    """The artifact of what `contents` gave, in a temporary folder that lives as long as the artifact."""
    holder = temporary_folder()
    write_files(Path(holder.name), {n: [data] for n, data in files.items()})
    artifact = load(holder.name)
    artifact._holder = holder
    return artifact


def _description(path: Path) -> Path:
    if not path.exists():
        raise IrError(f"there is no {path} to load")
    if path.is_dir():
        found = sorted(path.glob(f"*{SUFFIX}"))
        if not found:
            have = "it holds sources or objects only; build with emit='so'" if list(path.glob("*.[cho]")) else ""
            raise IrError(f"{path} holds no build that can be loaded (no *{SUFFIX})", help=have)
        if len(found) > 1:
            names = ", ".join(f.name for f in found)
            raise IrError(f"{path} holds several builds: name one of {names}")
        return found[0]
    if path.name.endswith(SUFFIX):
        return path
    beside = path.with_name(path.name.removesuffix(path.suffix) + SUFFIX)
    if not beside.exists():
        raise IrError(f"{path} cannot be loaded: there is no {beside.name} beside it")
    return beside


def _read(path: Path) -> dict[str, Any]:
    """The description, checked. Raises IrError where it is none, or one of another version."""
    try:
        about = json.loads(read_bytes(path))
    except (OSError, ValueError, RecursionError) as error:
        raise IrError(f"{path} cannot be read: {error}") from None
    if not isinstance(about, dict) or about.get("format") != _FORMAT:
        raise IrError(f"{path} does not describe a build of irtool")
    if about.get("version") != _VERSION:
        raise IrError(f"{path} has version {about.get('version')!r}; this irtool reads version {_VERSION}")
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


def _identity(path: Path) -> list[Any]:
    with open_file(path) as file:
        return [path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()]


def _check(path: Path, size: Any, digest: Any) -> None:
    if not path.is_file():
        raise IrError(f"{path} is missing: the build is not complete")
    if _identity(path) != [size, digest]:
        raise IrError(f"{path} is not the file that was built: its size or its contents differ")
