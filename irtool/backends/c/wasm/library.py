"""Calling a compiled WebAssembly module from Python, with the package wasmtime."""

from __future__ import annotations

import ctypes
import json
import struct
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ....diagnostics import ToolError, UsageError
from ....extras import install_line
from ....tir.errors import VALUE_ERROR
from ....tir.value_notes import BYTES
from ...interface.memory import ALIGNMENT
from ...library import failure, failure_message, region_bytes, too_large
from ...value_errors import ValueOutOfBounds
from .sections import FACTS, WEIGHTS, read_sections

_PAGE = 1 << 16


class Place(NamedTuple):
    """A part of the module's memory: its address there, and its size in bytes."""

    address: int
    size: int


class WasmLibrary:
    """A network in a WebAssembly module. Its memory is its own: each run copies inputs into it and outputs out of it.

    Any number of threads may call it; their runs come one after the other.
    """

    def __init__(self, path: Path, name: str, weights: Path | None = None) -> None:
        """Raises ToolError without the package wasmtime, and for a module or weights that cannot be loaded."""
        try:
            import wasmtime
        except ImportError:
            raise ToolError(
                "WebAssembly modules run in Python with the package wasmtime", help=install_line("wasm")
            ) from None
        self._name = name
        self._lock = threading.Lock()
        self._errors = (wasmtime.WasmtimeError, wasmtime.Trap)
        self._store = wasmtime.Store()
        try:
            content = path.read_bytes()
            module = wasmtime.Module(self._store.engine, content)
            linker = wasmtime.Linker(self._store.engine)
            linker.define_unknown_imports_as_traps(module)
            self._exports: Any = linker.instantiate(self._store, module).exports(self._store)
        except (OSError, *self._errors) as error:
            raise ToolError(f"the compiled module could not be loaded: {error}") from None
        self._memory: Any = self._exports["memory"]
        if "_initialize" in self._exports:
            self._call("_initialize")
        sections = read_sections(content)
        self._facts: dict[str, Any] = json.loads(bytes(sections[FACTS]))
        self._tensors = Place(0, 0)
        self._instance = Place(0, 0)
        stored = sections.get(WEIGHTS) if weights is None else _read(weights)
        if stored is not None:
            place = self._allocate(len(stored))
            ctypes.memmove(self._pointer(place.address), bytes(stored), len(stored))
            self._check(self._call(f"{name}_set_weights", place.address), place)

    def run(
        self, inputs: Sequence[Any], outputs: Sequence[Any], function: str = "", lengths: Sequence[int] = ()
    ) -> None:
        """Raises UsageError: modules have no workspace of their own, and `run_in` takes one."""
        raise UsageError("a WebAssembly module runs in a workspace of its caller")

    def workspace(self, arena_bytes: int) -> Place:
        """Memory for one run at a time. Raises ToolError if the module gets none."""
        with self._lock:
            return self._allocate(arena_bytes + ALIGNMENT)

    def arena_size(self, function: str, lengths: Sequence[int]) -> int:
        """The bytes of workspace for these lengths. Raises ToolError for more than the memory has addresses for."""
        size = self._call(function, *lengths) % (1 << 32)
        if not size:
            raise too_large(lengths)
        return size

    def region_used(self, workspace: Place, begin: int) -> int:
        """The most bytes of the region, from `begin` on in the workspace, that the last run there used at one time."""
        address = workspace.address + -workspace.address % ALIGNMENT + begin
        return region_bytes(struct.unpack("<4q", self._memory.read(self._store, address, address + 32)))

    def run_in(
        self,
        workspace: Place,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        function: str,
        lengths: Sequence[int] = (),
        values: int = 0,
    ) -> None:
        """Runs an entry point in a workspace on contiguous numpy arrays. Raises ToolError if it reports an error, or traps."""
        with self._lock:
            self._run(workspace, (), inputs, outputs, function, lengths)

    def step_in(
        self,
        workspace: Place,
        instance: int,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        function: str,
        lengths: Sequence[int] = (),
        values: int = 0,
    ) -> None:
        """As `run_in`, for the instance at an address of this process, whose bytes are copied into the module and back."""
        with self._lock:
            place = self._enter(instance)
            try:
                self._run(workspace, (place.address,), inputs, outputs, function, lengths)
            finally:
                self._leave(instance)

    def begin(self, instance: int) -> None:
        """Gives the states of the instance at this address their first values."""
        with self._lock:
            place = self._enter(instance)
            self._check(self._call(f"{self._name}_init", place.address), place)
            self._leave(instance)

    def transfer_state(self, instance: int, saved: int = 0, restored: int = 0) -> bool:
        """Saves the states of an instance to an address, then takes them from another one, each unless it is 0. False for bytes that
        are no saved state of this network."""
        size = self._facts["saved_bytes"]
        with self._lock:
            place = self._enter(instance)
            both = self._tensors_of(2 * size)
            if restored:
                ctypes.memmove(self._pointer(both.address + size), restored, size)
            addresses = both.address if saved else 0, both.address + size if restored else 0
            if self._call(f"{self._name}_state", place.address, *addresses):
                return False
            if saved:
                ctypes.memmove(saved, self._pointer(both.address), size)
            self._leave(instance)
            return True

    def _run(
        self,
        workspace: Place,
        instance: tuple[int, ...],
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        function: str,
        lengths: Sequence[int],
    ) -> None:
        sizes = [max(1, a.nbytes) + -max(1, a.nbytes) % ALIGNMENT for a in (*inputs, *outputs)]
        place = self._tensors_of(sum(sizes))
        addresses, end = [], place.address
        for size in sizes:
            addresses.append(end)
            end += size
        for array, address in zip(inputs, addresses, strict=False):
            ctypes.memmove(self._pointer(address), array.ctypes.data, array.nbytes)
        code = self._call(function, *workspace, *instance, *lengths, *addresses)
        self._check(code, workspace)
        for array, address in zip(outputs, addresses[len(inputs) :], strict=True):
            ctypes.memmove(array.ctypes.data, self._pointer(address), array.nbytes)

    def _enter(self, instance: int) -> Place:
        """Copies an instance into the module."""
        size = self._facts["instance_bytes"]
        if not self._instance.size:
            self._instance = self._allocate(size)
        ctypes.memmove(self._pointer(self._instance.address), instance, size)
        return self._instance

    def _leave(self, instance: int) -> None:
        """Copies the instance back."""
        ctypes.memmove(instance, self._pointer(self._instance.address), self._facts["instance_bytes"])

    def _pointer(self, address: int) -> int:
        """The address in this process, until the memory grows."""
        return ctypes.addressof(self._memory.data_ptr(self._store).contents) + address

    def _tensors_of(self, size: int) -> Place:
        """Memory for the tensors of a run: that of the runs before, if it is large enough."""
        if size > self._tensors.size:
            self._tensors = self._allocate(size)
        return self._tensors

    def _allocate(self, size: int) -> Place:
        pages = max(1, -(-size // _PAGE))
        try:
            return Place(self._memory.grow(self._store, pages) * _PAGE, pages * _PAGE)
        except self._errors:
            raise ToolError(f"the memory of the WebAssembly module cannot grow by {pages * _PAGE} bytes") from None

    def _call(self, function: str, *arguments: int) -> int:
        try:
            return self._exports[function](self._store, *(_signed(a) for a in arguments)) or 0
        except KeyError:
            raise ToolError(f"the compiled module has no function {function}") from None
        except self._errors as error:
            raise ToolError(f"the compiled module trapped: {error}") from None

    def _check(self, code: int, place: Place) -> None:
        if code == VALUE_ERROR:
            end = place.address + place.size
            number, value = struct.unpack("<qq", self._memory.read(self._store, end - BYTES, end))
            raise ValueOutOfBounds(failure_message(code), number, value)
        if code:
            raise failure(code)


def _signed(number: int) -> int:
    """An address as wasmtime takes it: the upper half of a 32-bit memory has negative ones."""
    return number - (1 << 32) if 1 << 31 <= number < 1 << 32 else number


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ToolError(f"{path}: {error.strerror or error}") from None
