"""Calling a compiled library from Python."""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..diagnostics import ToolError

ERRORS = {
    1: "the workspace is too small (a recursion went too deep?)",
    2: "the weights are not set",
    3: "the weights file cannot be opened or read",
}


_TURNS = "2000"
"""How often a thread of gcc's OpenMP looks for work before it sleeps, at 50 ns or so. Its own default is 300,000: where
another process needs a core, that time is taken from the very thread that is waited for."""


_FOREIGN = (
    "a library for another processor runs there only; `irtool run --runner COMMAND` runs a program in an emulator"
)


class Library:
    """A compiled `NAME`: `run(inputs, outputs)` on contiguous numpy arrays of the right dtypes and sizes."""

    def __init__(self, path: Path, name: str, weights: Path | None = None) -> None:
        try:
            self._library = _load(path.resolve())
        except OSError as error:
            raise ToolError(
                f"the compiled library could not be loaded: {error}", help=_FOREIGN if path.is_file() else ""
            ) from None
        self._name = name
        self._entries: dict[str, Any] = {}
        if weights is not None:
            load = getattr(self._library, f"{name}_load_weights")
            load.argtypes, load.restype = [ctypes.c_char_p], ctypes.c_int
            code = load(os.fsencode(weights))
            if code:
                raise ToolError(
                    f"{weights}: {ERRORS[code] if code != 2 else 'not the weights of this library, or damaged'}"
                )

    def run(self, inputs: Sequence[Any], outputs: Sequence[Any], function: str = "") -> None:
        """Runs an entry point (`NAME_run` unless another is named). Raises ToolError where it reports an error."""
        entry = self._entries.get(function)
        if entry is None:
            entry = getattr(self._library, function or f"{self._name}_run")
            entry.argtypes, entry.restype = [ctypes.c_void_p] * (len(inputs) + len(outputs)), ctypes.c_int
            self._entries[function] = entry
        code = entry(*map(_address, inputs), *map(_address, outputs))
        if code:
            raise ToolError(f"the compiled program failed: {ERRORS.get(code, f'error {code}')}")


def _address(array: Any) -> int:
    """Of the first element of a contiguous array."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # a quarter of the time of the below
    except (TypeError, ValueError):  # an array that cannot be written, or is empty
        return array.ctypes.data


def open_library(path: Path) -> ctypes.CDLL:
    """Loads a shared library. OpenMP that it brings along lets threads without work sleep soon, unless the environment
    (`GOMP_SPINCOUNT`, `OMP_WAIT_POLICY`) says otherwise. Raises OSError."""
    if {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
        return ctypes.CDLL(str(path))
    os.environ["GOMP_SPINCOUNT"] = _TURNS  # read when it is loaded, and never again
    try:
        return ctypes.CDLL(str(path))
    finally:
        del os.environ["GOMP_SPINCOUNT"]


_loaded: dict[Path, tuple[int, int]] = {}
"""By path, the file that was loaded from there."""


def _load(path: Path) -> ctypes.CDLL:
    """The library in this file, whatever was loaded from the same path before: the loader goes by the name, and would give
    back what a later build has replaced."""
    about = os.stat(path)
    identity = about.st_dev, about.st_ino
    if _loaded.setdefault(path, identity) == identity:
        return open_library(path)
    with tempfile.TemporaryDirectory(prefix="irtool-") as folder:
        return open_library(Path(shutil.copy(path, folder)))
