"""Calling a compiled library from Python, from any number of threads."""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
import threading
from collections.abc import Sequence
from ctypes import addressof
from pathlib import Path
from typing import Any, NamedTuple

from ..diagnostics import ToolError
from ..files import temporary_folder
from ..tir.errors import (
    BRANCH_ERROR,
    ELEMENTS_ERROR,
    LENGTH_ERROR,
    MATCH_ERROR,
    OTHER_STATE_ERROR,
    OTHER_VALUES_ERROR,
    REGION_ERROR,
    STATE_FULL_ERROR,
    TOKEN_ERROR,
    UNEQUAL_ERROR,
    VALUE_ERROR,
    VALUES_FULL_ERROR,
    WEIGHTS_ERROR,
    WEIGHTS_FILE_ERROR,
    WORKSPACE_ERROR,
)
from ..tir.region import HEADER
from ..tir.value_notes import BYTES
from .interface.memory import ALIGNMENT
from .value_errors import ValueOutOfBounds

ERRORS = {
    WORKSPACE_ERROR: "the workspace is too small",
    WEIGHTS_ERROR: "the weights are not set",
    WEIGHTS_FILE_ERROR: "the weights file cannot be opened or read",
    LENGTH_ERROR: "a length is outside of its bounds",
    OTHER_STATE_ERROR: "the bytes are no saved state of this network, or damaged",
    UNEQUAL_ERROR: "lengths that have to be equal are not",
    STATE_FULL_ERROR: "the states have no room for the step",
    TOKEN_ERROR: "a token is outside of the vocabulary",
    OTHER_VALUES_ERROR: "the values are not of the types of the parameters",
    VALUES_FULL_ERROR: "the results do not fit in the memory for values",
    REGION_ERROR: "the region is full: the data and the recursion of this run take more memory than it has (see region_size)",
    MATCH_ERROR: "no clause of a match fits",
    ELEMENTS_ERROR: "a result needs elements of an axis that has fewer in this run",
    VALUE_ERROR: "a value decides an extent that is outside of its bounds",
    BRANCH_ERROR: "a branch was taken that is impossible with the shapes that the program was built for",
}


_OF_WEIGHTS = {WORKSPACE_ERROR: "not enough memory", WEIGHTS_ERROR: "not the weights of this library, or damaged"}
"""The errors that mean something else while weights are loaded."""


_TURNS = "2000"
"""Polls of a thread of gcc's OpenMP before it sleeps, each of about 50 ns. The default is 300,000: if another process needs a
core, that time is taken from the thread that the others wait for."""


_FOREIGN = (
    "a library for another processor runs there only; `irtool run --runner COMMAND` runs a program in an emulator"
)


class Workspace(NamedTuple):
    """Memory for one run at a time: its address, its size in bytes, and the array that holds it."""

    address: int
    size: int
    memory: Any


class CompiledFunctions:
    """The functions of a compiled `NAME`; `_function` gives one by its symbol and the types of its arguments.

    `run` uses the workspace of the library itself, which only one run may use at a time; `run_in` uses a workspace of
    `workspace`, and any number of threads may call it, each with another one.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._entries: dict[str, Any] = {}
        self._entries_in: dict[str, Any] = {}

    def _function(self, symbol: str, arguments: Sequence[Any], result: Any = ctypes.c_int) -> Any:
        """The function of that name, which returns a value of that type. Raises ToolError for a missing function."""
        raise NotImplementedError

    def run(
        self, inputs: Sequence[Any], outputs: Sequence[Any], function: str = "", lengths: Sequence[int] = ()
    ) -> None:
        """Runs an entry point (`NAME_run` by default) on contiguous numpy arrays of the right dtypes and sizes, for these lengths.
        Raises ToolError if it reports an error."""
        entry = self._entries.get(function)
        if entry is None:
            tensors = [ctypes.c_void_p] * (len(inputs) + len(outputs))
            entry = self._function(function or f"{self._name}_run", [ctypes.c_int64] * len(lengths) + tensors)
            self._entries[function] = entry
        code = entry(*lengths, *_addresses([*inputs, *outputs]))
        if code:
            raise failure(code)

    def workspace(self, arena_bytes: int) -> Workspace:
        """Memory for the runs of a network whose arena has `arena_bytes`. Raises MemoryError."""
        import numpy as np

        size = arena_bytes + ALIGNMENT
        memory = np.empty(size, np.uint8)
        return Workspace(memory.ctypes.data, size, memory)

    def region_used(self, workspace: Workspace, begin: int) -> int:
        """The most bytes of the region, from `begin` on in the aligned workspace, that the last run there used at one time; 0 before one."""
        import numpy as np

        skipped = -workspace.address % ALIGNMENT
        words = workspace.memory[skipped + begin : skipped + begin + HEADER].view(np.int64)
        return region_bytes(words)

    def arena_size(self, function: str, lengths: Sequence[int]) -> int:
        """The bytes of workspace for these lengths, by the function of that name. Raises ToolError if memory has no addresses for as many."""
        size = self._function(function, [ctypes.c_int64] * len(lengths), ctypes.c_size_t)(*lengths)
        if not size:
            raise too_large(lengths)
        return int(size)

    def run_in(
        self,
        workspace: Workspace,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        function: str,
        lengths: Sequence[int] = (),
        values: int = 0,
    ) -> None:
        """As `run`, in a workspace; `function` is the entry point that takes one (`NAME_run_with`). `values` is the address of the values
        of data types, if it takes some."""
        entry = self._entries_in.get(function) or self._entry_in(function, bool(values), lengths, inputs, outputs)
        memory = (values,) if values else ()
        code = entry(workspace[0], workspace[1], *memory, *lengths, *_addresses([*inputs, *outputs]))
        if code:
            raise _failure_in(workspace, code)

    def step_in(
        self,
        workspace: Workspace,
        instance: int,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        function: str,
        lengths: Sequence[int] = (),
        values: int = 0,
    ) -> None:
        """As `run_in`, for the instance at an address; `function` is `NAME_step_with`."""
        entry = self._entries_in.get(function) or self._entry_in(function, 1 + bool(values), lengths, inputs, outputs)
        memory = (instance, values) if values else (instance,)
        code = entry(workspace[0], workspace[1], *memory, *lengths, *_addresses([*inputs, *outputs]))
        if code:
            raise _failure_in(workspace, code)

    def _entry_in(
        self, function: str, pointers: int, lengths: Sequence[int], inputs: Sequence[Any], outputs: Sequence[Any]
    ) -> Any:
        """The entry point that takes a workspace, so many pointers, these lengths, and these tensors."""
        own: list[Any] = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_void_p] * pointers]
        tensors = [ctypes.c_void_p] * (len(inputs) + len(outputs))
        entry = self._function(function, [*own, *[ctypes.c_int64] * len(lengths), *tensors])
        self._entries_in[function] = entry
        return entry

    def begin(self, instance: int) -> None:
        """Gives the states of the instance at this address their first values."""
        self._function(f"{self._name}_init", [ctypes.c_void_p])(instance)

    def transfer_state(self, instance: int, saved: int = 0, restored: int = 0) -> bool:
        """Saves the states of an instance to an address, then takes them from another one, each unless it is 0. False for bytes that
        are no saved state of this network."""
        code = self._function(f"{self._name}_state", [ctypes.c_void_p] * 3)(instance, saved or None, restored or None)
        return code == 0

    def _load_weights(self, weights: Path) -> None:
        """Loads the weights. Raises ToolError for a file that cannot be read, or is not the weights file of this library."""
        code = self._function(f"{self._name}_load_weights", [ctypes.c_char_p])(os.fsencode(weights))
        if code:
            raise ToolError(f"{weights}: {_OF_WEIGHTS.get(code) or ERRORS.get(code, f'error {code}')}")


class Library(CompiledFunctions):
    """A compiled `NAME` in a shared library.

    A process loads the same file, and its weights, once, however many instances and threads there are; both stay until the
    process ends.
    """

    def __init__(self, path: Path, name: str, weights: Path | None = None) -> None:
        super().__init__(name)
        try:
            self._opened = _open_once(path.resolve())
        except OSError as error:
            raise ToolError(
                f"the compiled library could not be loaded: {error}", help=_FOREIGN if path.is_file() else ""
            ) from None
        self._library = self._opened.library
        if weights is not None:
            self._opened.load_once(weights, self._load_weights)

    def _function(self, symbol: str, arguments: Sequence[Any], result: Any = ctypes.c_int) -> Any:
        # A separate object: that of `getattr` is shared, and its types would be set while other threads call it.
        try:
            return ctypes.CFUNCTYPE(result, *arguments)((symbol, self._library))
        except AttributeError:
            raise ToolError(f"the compiled library has no function {symbol}") from None


def too_large(lengths: Sequence[int]) -> ToolError:
    """The error for lengths whose workspace has more bytes than there are addresses."""
    return ToolError(f"tensors and workspace for lengths of {', '.join(map(str, lengths))} exceed all memory")


def region_bytes(words: Sequence[int]) -> int:
    """The most bytes of a region that were in use at one time, by the first four words of its head."""
    return int(words[2] - HEADER - words[3])


def failure(code: int) -> ToolError:
    """The error for the return value of an entry point."""
    return ToolError(failure_message(code))


def failure_message(code: int) -> str:
    """The message on the return value of an entry point that is not 0."""
    return f"the compiled program failed: {ERRORS.get(code, f'error {code}')}"


def _failure_in(workspace: Workspace, code: int) -> ToolError:
    """The error for the return value of an entry point that ran in a workspace."""
    if code != VALUE_ERROR:
        return failure(code)
    end = workspace.address + workspace.size
    number, value = struct.unpack("=qq", ctypes.string_at(end - BYTES, BYTES))
    return ValueOutOfBounds(failure_message(code), number, value)


_first_byte = ctypes.c_char.from_buffer


def _addresses(arrays: Sequence[Any]) -> list[int]:
    """The addresses of the first elements of contiguous arrays."""
    try:
        return [addressof(_first_byte(a)) for a in arrays]  # a quarter of the time of the code below
    except (TypeError, ValueError):  # an array that cannot be written, or is empty
        return [a.ctypes.data for a in arrays]


def open_library(path: Path) -> ctypes.CDLL:
    """Loads a shared library. Idle threads of its OpenMP sleep soon, unless the environment (`GOMP_SPINCOUNT`, `OMP_WAIT_POLICY`)
    says otherwise. Raises OSError."""
    with _loading:
        if {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
            return ctypes.CDLL(str(path))
        os.environ["GOMP_SPINCOUNT"] = _TURNS  # read when it is loaded, and never again
        try:
            return ctypes.CDLL(str(path))
        finally:
            del os.environ["GOMP_SPINCOUNT"]


class _Opened:
    """A library in this process, and the files from which its weights were loaded."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        self._weights: set[tuple[int, ...]] = set()
        self._lock = threading.Lock()

    def load_once(self, weights: Path, load: Any) -> None:
        """Loads the weights in a file, unless they were loaded from it before."""
        try:
            about = os.stat(weights)
        except OSError:
            load(weights)  # raises the error
            return
        identity = about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns
        with self._lock:
            if identity not in self._weights:
                load(weights)
                self._weights.add(identity)


_loading = threading.RLock()
"""The lock for loading a library: meanwhile the environment is changed, and each file is loaded once."""

_opened: dict[tuple[int, ...], _Opened] = {}
"""The loaded libraries, by device and inode of their files, which no other file has while they are in use; for a file that was
copied to be loaded, by its time of change as well."""

_paths: dict[Path, tuple[int, int]] = {}
"""Device and inode of the file that was first loaded from each path."""


def _open_once(path: Path) -> _Opened:
    """The library in this file, whatever was loaded from the same path before: the loader goes by the name, and would return the
    file that a later build has replaced. Raises OSError."""
    about = os.stat(path)
    identity = about.st_dev, about.st_ino
    copied = *identity, about.st_ctime_ns
    with _loading:
        known = _opened.get(identity) or _opened.get(copied)
        if known is not None:
            return known
        if _paths.setdefault(path, identity) == identity:
            opened = _opened[identity] = _Opened(open_library(path))
            return opened
        with temporary_folder() as folder:
            opened = _opened[copied] = _Opened(open_library(Path(shutil.copy(path, folder))))
        return opened
