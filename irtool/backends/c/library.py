"""Calling a compiled library from Python."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...diagnostics import ToolError

_ERRORS = {1: "the workspace is too small (a recursion went too deep?)", 2: "the weights are not set"}


class Library:
    """A compiled `NAME`: `run(inputs, outputs)` on contiguous numpy arrays of the right dtypes and sizes."""

    def __init__(self, path: Path, name: str, weights: Path | None = None) -> None:
        try:
            self._library = ctypes.CDLL(str(path))
        except OSError as error:
            raise ToolError(f"the compiled library could not be loaded: {error}") from None
        self._run = getattr(self._library, f"{name}_run")
        self._run.restype = ctypes.c_int
        self._weights: Any = None
        if weights is not None:
            with open(weights, "rb") as file:
                self._weights = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
            address = ctypes.addressof(ctypes.c_char.from_buffer(self._weights))
            set_weights = getattr(self._library, f"{name}_set_weights")
            set_weights.argtypes = [ctypes.c_void_p]
            set_weights.restype = None
            set_weights(address)

    def run(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Raises ToolError where the program reports an error."""
        code = self._run(*[ctypes.c_void_p(a.ctypes.data) for a in (*inputs, *outputs)])
        if code:
            raise ToolError(f"the compiled program failed: {_ERRORS.get(code, f'error {code}')}")
