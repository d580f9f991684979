"""The memory in which a run gets values of data types and references, and leaves those of its results: see `tir.values`."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from ..diagnostics import IrError
from ..interp.values import Data, Reference
from ..ir import Constructor, GlobalTypeVar, TensorType
from ..ir.conversion import dtype_name, fit
from ..ir.mistakes import ValueDoesNotFit
from ..tir.region import HEADER, Field
from ..tir.values import Alternative, ValueType
from .nested import BITS, as_dtype, flat, nested


class ValueMemory:
    """The values of one run. A value that occurs several times is one object, in the memory and when it is read."""

    def __init__(self, types: Sequence[ValueType]) -> None:
        self._types = types
        self._bytes = bytearray(HEADER)
        self._handles: dict[tuple[int, int], int] = {}
        self._values: dict[tuple[int, int], Any] = {}
        """Values by handle and number of their type: a constructor without arguments has one handle for all types."""
        self._waiting: list[tuple[int, Alternative, Any, str]] = []
        self._references: list[tuple[int, int]] = []
        self._memory: Any = None

    def put(self, value: Any, number: int, what: str) -> int:
        """The handle of a value of the type with that number. Raises IrError for a value of another type."""
        root = self._place(value, number, what)
        while self._waiting:
            handle, alternative, arguments, name = self._waiting.pop()
            try:
                leaves = flat(alternative.forms, arguments)
            except (TypeError, ValueError):
                raise IrError(f"{name} has arguments of other types", code=ValueDoesNotFit) from None
            for field, target, x in zip(alternative.layout.fields, alternative.targets, leaves, strict=True):
                if target >= 0:
                    self._store(handle + field.offset, struct.pack("=q", self._place(x, target, name)))
                else:
                    self._store(handle + field.offset, _tensor_bytes(x, field, name))
        return root

    def _place(self, value: Any, number: int, what: str) -> int:
        """The handle of a value, whose object gets its place, and is to be filled."""
        known = self._handles.get((id(value), number))
        if known is not None:
            return known
        t = self._types[number]
        alternative, arguments = _taken_apart(t, value, what)
        layout = alternative.layout
        handle = len(self._bytes) if layout.fields else -1 - layout.tag
        self._handles[id(value), number] = handle
        self._values[handle, number] = value
        if layout.fields:
            self._bytes += bytes(layout.size)
            self._store(handle, struct.pack("=q", layout.tag | layout.number << 32))
            name = what if len(what) > _LONGEST else f"{what}.{layout.name}"
            self._waiting.append((handle, alternative, arguments, name))
            if not t.data:
                self._references.append((handle, number))
        return handle

    def _store(self, offset: int, data: bytes) -> None:
        self._bytes[offset : offset + len(data)] = data

    def open(self, room: int) -> int:
        """The address of the memory, with room for that many bytes beside the values; no more can be put."""
        import numpy as np

        size = len(self._bytes) + -(-room // 8) * 8
        memory = self._memory = np.empty(size // 8, np.int64)
        memory.view(np.uint8)[: len(self._bytes)] = self._bytes
        memory[:2] = len(self._bytes), size
        address: int = memory.ctypes.data
        return address

    def image(self) -> Any:
        """The memory as an array of words, for a program in a process of its own; no more can be put."""
        self.open(0)
        return self._memory

    def replace(self, image: bytes) -> None:
        """Takes the memory as a program leaves it."""
        import numpy as np

        self._memory = np.frombuffer(image, np.int64).copy()

    def update(self) -> None:
        """Gives the references that were put the values that the run left in them."""
        self._read([], list(self._references))

    def get(self, handle: int, number: int) -> Any:
        """The value of a handle of the type with that number; one that was put is that very object."""
        self._read([(handle, number)], [])
        return self._values[handle, number]

    def _read(self, stack: list[tuple[int, int]], references: list[tuple[int, int]]) -> None:
        """Makes the values of handles, then gives references theirs, which may lead back to them."""
        ready: list[tuple[int, int]] = []
        while stack or references:
            if not stack:
                ready.append(references.pop())
                stack = self._missing(*ready[-1])
                continue
            h, n = stack[-1]
            t = self._types[n]
            if (h, n) in self._values:
                stack.pop()
            elif not t.data:
                self._values[h, n] = Reference(None)
                references.append((h, n))
            elif missing := self._missing(h, n):
                stack += missing
            else:
                alternative = t.alternatives[self._tag(h)]
                self._values[h, n] = Data(_constructor(t, alternative), self._arguments(h, alternative))
        for h, n in ready:
            (self._values[h, n].value,) = self._arguments(h, self._types[n].alternatives[0])

    def _missing(self, handle: int, number: int) -> list[tuple[int, int]]:
        """The handles in an object, each with the number of its type, that have no values yet."""
        alternative = self._types[number].alternatives[self._tag(handle)]
        fields = zip(alternative.layout.fields, alternative.targets, strict=True)
        inside = [(int(self._memory[(handle + f.offset) // 8]), n) for f, n in fields if n >= 0]
        return [x for x in inside if x not in self._values]

    def _tag(self, handle: int) -> int:
        return -1 - handle if handle < 0 else int(self._memory[handle // 8]) & 0x7FFFFFFF

    def _arguments(self, handle: int, alternative: Alternative) -> tuple[Any, ...]:
        """The arguments of an object, whose handles have values."""
        import numpy as np

        leaves: list[Any] = []
        for f, n in zip(alternative.layout.fields, alternative.targets, strict=True):
            if n >= 0:
                leaves.append(self._values[int(self._memory[(handle + f.offset) // 8]), n])
                continue
            stored = np.dtype(BITS.get(f.dtype, f.dtype))
            array = np.frombuffer(self._memory, stored, f.nbytes // stored.itemsize, handle + f.offset)
            leaves.append(as_dtype(array.reshape(f.shape).copy(), f.dtype))
        arguments: tuple[Any, ...] = nested(alternative.forms, iter(leaves))
        return arguments


_LONGEST = 60
"""Characters of the path to a value in messages."""


def _taken_apart(t: ValueType, value: Any, what: str) -> tuple[Alternative, Sequence[Any]]:
    """The alternative that a value is, and its arguments."""
    if not t.data:
        if isinstance(value, Reference):
            return t.alternatives[0], (value.value,)
    elif isinstance(value, Data) and value.constructor.belong_to.name == t.data:
        for a in t.alternatives:
            if a.layout.name == value.constructor.name and len(a.forms) == len(value):
                return a, value
    raise IrError(f"{what} is {t.text}, and its value is {_shown(value)}", code=ValueDoesNotFit)


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, Data | Reference) else f"of {type(value).__name__}"


def _tensor_bytes(value: Any, field: Field, what: str) -> bytes:
    import numpy as np

    array = fit(value, TensorType(field.shape, field.dtype), what)
    bits = array.view("uint16") if dtype_name(array) == "bfloat16" else array
    return np.ascontiguousarray(bits).tobytes()


def _constructor(t: ValueType, alternative: Alternative) -> Constructor:
    """The constructor of that name and tag: patterns go by these."""
    return Constructor(alternative.layout.name, (), GlobalTypeVar(t.data), alternative.layout.tag)
