"""Builds on disk: `NAME.irtool.json` beside a library describes its inputs and outputs, so that other processes can run it.

::

    NAME.irtool.json   entries with names, shapes and dtypes; the report; size and SHA-256 of the other files; whether the library is plain,
                       so that a process that runs it needs no backend
    NAME.so            the library
    NAME.bin           its weights, where they are in a file of their own
    NAME.graph.json    the graph for the graph executor, and
    NAME.params        its constants: only where `Artifact.save` wrote the folder

`build(…, out_dir=…)` writes the first three. Loading runs code: open only builds that you trust.
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
from .entries import describe_entry
from .outputs import write_files

SUFFIX = ".irtool.json"
FORMAT = "irtool build"
VERSION = 1


def describe(artifact: Artifact, folder: Path, names: Iterable[str], known: Mapping[str, str]) -> bytes:
    """The text of `NAME.irtool.json` for an artifact whose files of these names are in a folder; `known` has SHA-256 of some."""
    assert artifact._library_path is not None
    about: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "name": artifact.name,
        "backend": artifact._backend,
    }
    if any(f.gives_data for f in artifact._entries.values()):
        about["refused"] = "it gives algebraic data, whose constructors are known to the process that built it only"
    else:
        about["entries"] = {n: describe_entry(f) for n, f in artifact._entries.items()}
        about["report"] = {k: v for k, v in artifact.report.items() if k not in ("seconds", "warnings")}
        about["library"] = artifact._library_path.name
        about["is_plain"] = artifact.is_plain
        about["weights"] = artifact._weights.name if artifact._weights is not None else ""
        about["files"] = {
            n: [(folder / n).stat().st_size, known[n]] if n in known else identity(folder / n) for n in names
        }
    return (json.dumps(about, indent=1) + "\n").encode()


def save(artifact: Artifact, folder: str | os.PathLike[str]) -> list[str]:
    """Writes an artifact into a folder, for `load`; see `Artifact.save`."""
    files = contents(artifact)
    return [str(p) for p in write_files(Path(folder), {n: [data] for n, data in files.items()})]


def contents(artifact: Artifact) -> dict[str, bytes]:
    """The files of a saved artifact, its description last. Raises IrError for an artifact that cannot be saved."""
    if artifact._specializer is not None:
        raise IrError(
            "this build has dynamic shapes: it is compiled when it runs, so there is nothing to save",
            help="build a module of static shapes",
        )
    if artifact._library_path is None:
        raise IrError("this build has no library: only builds with emit='so' can be saved")
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
        text = describe(artifact, Path(work), files, {})
    about = json.loads(text)
    if "refused" in about:
        raise IrError(f"this build cannot be saved: {about['refused']}")
    return {**files, artifact.name + SUFFIX: text}


def identity(path: Path) -> list[Any]:
    with open_file(path) as file:
        return [path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()]
