"""Where the output of a build goes: a folder, or standard output."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ..diagnostics import UsageError
from ..driver.options import TIR, choose_backend, default_emit
from .build_options import OutputChoice
from .mistakes import ClashingOptions


@dataclass(frozen=True)
class Destination:
    """Where a build goes.

    Attributes:
        folder: of its files; None if the output is printed.
        name: prefix of files and C names.
        emit: the kind of output.
        is_source: True for the first of the backend's outputs, which is text.
    """

    folder: str | None
    name: str
    emit: str
    is_source: bool = False

    @property
    def is_printed(self) -> bool:
        """True if the output goes to standard output."""
        return self.folder is None


def find_destination(choice: OutputChoice, target: str, file: str) -> Destination:
    """Where the build of `file` goes.

    Without `-o`, that is `NAME.out`, or standard output for `tir`. Raises UsageError for an output that cannot be printed.
    """
    backend, *_ = choose_backend(target, {})
    emit = choice.emit or default_emit(backend)
    is_source = emit == backend.emits[0]
    path, name = choice.path, choice.name or backend.fit_name(_stem(file))
    if path == "-" or (path is None and emit == TIR):
        if emit != TIR and not is_source:
            raise UsageError(
                f"--emit={emit} writes files; -o - prints {TIR} and {backend.emits[0]} only",
                help="name a folder: -o out/",
                code=ClashingOptions,
            )
        return Destination(None, name, emit, is_source)
    if path is None:
        return Destination(f"{name}.out", name, emit, is_source)
    return Destination(path, name, emit, is_source)


def _stem(file: str) -> str:
    """The file's name without folder and ending."""
    return os.path.basename(file).split(".")[0] if file != "-" else "module"
