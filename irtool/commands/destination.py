"""The output of a build: a folder, a named file, or standard output."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..backends.base import Backend
from ..diagnostics import UsageError
from ..driver.options import TEXTS, choose_backend, default_emit, outputs_of
from .build_options import OutputChoice
from .mistakes import ClashingOptions


@dataclass(frozen=True)
class Destination:
    """The place for the output of a build.

    Attributes:
        folder: of its files; None if the output is printed.
        name: prefix of files and C names.
        emit: the kind of output.
        ending: that of the output's file.
        is_source: True for the first of the backend's outputs, which is text.
    """

    folder: str | None
    name: str
    emit: str
    ending: str
    is_source: bool = False

    @property
    def is_printed(self) -> bool:
        """True if the output goes to standard output."""
        return self.folder is None


def find_destination(choice: OutputChoice, target: str, file: str, flags: Mapping[str, Any]) -> Destination:
    """The place for the output of the build of `file`; `flags` are those of the backend beside the target's.

    Without `-o`, that is `NAME.out`, or standard output for `tir` and `isel`. `-o` names a folder, or, with the ending of the output, its
    file; a path that is a folder, or ends with `/`, is one whatever its ending. Raises UsageError for an output that cannot be
    printed, for the ending of another output, and for two names.
    """
    backend, *_ = choose_backend(target, flags)
    emit = choice.emit or default_emit(backend)
    ending, is_source = backend.ending(emit), emit == backend.emits[0]
    path, name = choice.path, choice.name or backend.fit_name(_stem(file))
    if path == "-" or (path is None and emit in TEXTS):
        if emit not in (*TEXTS, *backend.printed()):
            raise UsageError(
                f"--emit={emit} writes files; -o - prints {', '.join([*TEXTS, *backend.printed()])} only",
                help="name a folder: -o out/",
                code=ClashingOptions,
            )
        return Destination(None, name, emit, ending, is_source)
    if path is None:
        return Destination(f"{name}.out", name, emit, ending, is_source)
    named = _file_name(path, emit, backend)
    if not named:
        return Destination(path, name, emit, ending, is_source)
    if choice.name not in (None, named):
        raise UsageError(f"-o {path} and --name {choice.name} are two names", code=ClashingOptions)
    return Destination(os.path.dirname(path) or ".", named, emit, ending, is_source)


def _file_name(path: str, emit: str, backend: Backend) -> str:
    """NAME of a path that names the file of this output; empty for a folder. Raises UsageError for the file of another one."""
    name, _, ending = os.path.basename(path).rpartition(".")
    if not name or not ending or os.path.isdir(path):
        return ""
    if ending == backend.ending(emit):
        return name
    others = [e for e in outputs_of(type(backend)) if backend.ending(e) == ending]
    if others:
        raise UsageError(
            f"-o {path} is not a file of --emit={emit}",
            help=f"--emit={others[0]}, or name a folder: -o {name}/",
            code=ClashingOptions,
        )
    return ""


def _stem(file: str) -> str:
    """The file's name without folder and ending."""
    return os.path.basename(file).split(".")[0] if file != "-" else "module"
