"""Parameter files of the GGUF format, version 2 and 3: metadata, then a table of tensors, then their blocks.

Everything that a file says of itself is checked against its size before memory is taken: numbers of entries, lengths of strings, and the
bytes of tensors, which may not overlap.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..diagnostics import IrError
from ..files import read_bytes
from ..ir.block_tensor import BlockTensor
from .gguf_formats import FORMATS, NAMES, decode

if TYPE_CHECKING:
    import numpy as np

MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_ALIGNMENT = "general.alignment"
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""The struct code of each type of metadata that has a fixed size."""
_STRING, _ARRAY = 8, 9
_MOST_AXES = 4
_LONGEST_ARRAY = 1 << 12
"""Elements of an array of metadata that is kept: those of layers are short, those of tokens are not."""


def read_gguf(path: str | os.PathLike[str]) -> dict[str, np.ndarray | BlockTensor]:
    """The tensors by name, in the order of the file, the innermost axis last.

    Raises IrError for a damaged file, and for formats that Relay has no form for, naming all of their tensors; OSError if the file cannot be
    read.
    """
    name = os.fspath(path)
    return read_gguf_data(read_bytes(path), name).tensors


@dataclass(frozen=True)
class GgufFile:
    """The contents of a file.

    Attributes:
        name: its name in messages.
        metadata: numbers, truth values, strings, and short arrays of numbers by name; None for other values.
        tensors: the tensors by name, in the order of the file, the innermost axis last.
    """

    name: str
    metadata: Mapping[str, Any]
    tensors: dict[str, np.ndarray | BlockTensor]


def read_gguf_data(data: bytes, name: str) -> GgufFile:
    """The contents of a file with these bytes, `name` in messages. Raises IrError as `read_gguf` does."""
    try:
        return _contents(_Reader(memoryview(data)), name)
    except ValueError as error:
        raise IrError(f"the file is damaged: {error}", filename=name) from None
    except IrError as error:
        raise IrError(str(error.diagnostics[0].message), filename=name, help=error.diagnostics[0].help) from None


@dataclass(frozen=True)
class _Entry:
    """A row of the table of tensors. `shape` has the innermost axis last."""

    name: str
    shape: tuple[int, ...]
    format: int
    offset: int

    @property
    def nbytes(self) -> int:
        """The bytes of its blocks."""
        form = FORMATS[self.format]
        return math.prod(self.shape) // form.block * form.nbytes


class _Reader:
    """Numbers and strings of a file, in order."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.offset = 0

    def left(self) -> int:
        """The bytes that are not read yet."""
        return len(self.data) - self.offset

    def number(self, code: str) -> Any:
        """The next number, little-endian."""
        size = struct.calcsize(f"<{code}")
        if self.left() < size:
            raise ValueError("it is cut off")
        (value,) = struct.unpack_from(f"<{code}", self.data, self.offset)
        self.offset += size
        return value

    def string(self) -> str:
        """The next string."""
        length = self.number("Q")
        if length > self.left():
            raise ValueError(f"a string of {length} bytes is cut off")
        raw = bytes(self.data[self.offset : self.offset + length])
        self.offset += length
        return raw.decode("utf-8", "replace")

    def count(self, least: int, what: str) -> int:
        """The next number of entries, each of which takes `least` bytes."""
        count = self.number("Q")
        if count * least > self.left():
            raise ValueError(f"it cannot hold {count} {what}")
        return int(count)

    def value(self) -> Any:
        """The next value of metadata; None for long arrays and those of strings, which are passed over."""
        kind = self.number("I")
        if kind in _SCALARS:
            return self.number(_SCALARS[kind])
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            return self._array()
        raise ValueError(f"metadata of the type {kind} are unknown")

    def _array(self) -> tuple[Any, ...] | None:
        kind = self.number("I")
        if kind in _SCALARS:
            code = _SCALARS[kind]
            size = struct.calcsize(f"<{code}")
            count = self.count(size, "elements of an array")
            first, self.offset = self.offset, self.offset + count * size
            return struct.unpack_from(f"<{count}{code}", self.data, first) if count <= _LONGEST_ARRAY else None
        if kind != _STRING:
            raise ValueError(f"arrays of metadata of the type {kind} are unknown")
        for _ in range(self.count(8, "strings")):
            self.string()
        return None


def _contents(file: _Reader, name: str) -> GgufFile:
    if bytes(file.data[:4]) != MAGIC:
        raise ValueError("it does not start with GGUF")
    file.offset = 4
    version = file.number("I")
    if version not in _VERSIONS:
        raise ValueError(f"version {version} is unknown; there are {' and '.join(map(str, _VERSIONS))}")
    count = file.count(24, "tensors")
    entries = file.count(13, "entries of metadata")
    metadata: dict[str, Any] = {}
    for _ in range(entries):
        key, value = file.string(), file.value()
        if key in metadata:
            raise ValueError(f"{key} is there twice")
        metadata[key] = value
    alignment = metadata.get(_ALIGNMENT, 32)
    if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
        raise ValueError(f"{_ALIGNMENT} is {alignment}, no power of 2")
    table = [_entry(file) for _ in range(count)]
    _check(table)
    start = -(-file.offset // alignment) * alignment
    size = max(0, len(file.data) - start)
    if sum(e.nbytes for e in table) > size:
        raise ValueError(f"the tensors take {sum(e.nbytes for e in table)} bytes, and there are {size}")
    result: dict[str, np.ndarray | BlockTensor] = {}
    for e in table:
        if e.offset % alignment or e.offset + e.nbytes > size:
            raise ValueError(f"the blocks of {e.name} are not within the file")
        begin = start + e.offset
        result[e.name] = decode(file.data[begin : begin + e.nbytes], e.format, e.shape)
    return GgufFile(name, metadata, result)


def _entry(file: _Reader) -> _Entry:
    name, rank = file.string(), file.number("I")
    if rank > _MOST_AXES:
        raise ValueError(f"{name} has {rank} axes, and {_MOST_AXES} are the most")
    shape = tuple(file.number("Q") for _ in range(rank))
    form, offset = file.number("I"), file.number("Q")
    if math.prod(max(d, 1) for d in shape) > 1 << 48:
        raise ValueError(f"{name} has the shape {shape[::-1]}")
    return _Entry(name, shape[::-1], form, offset)


def _check(table: list[_Entry]) -> None:
    """Raises IrError for formats that Relay has no form for, ValueError for names that are there twice and rows that are no whole blocks."""
    unknown: dict[str, list[str]] = {}
    for e in table:
        if e.format not in FORMATS:
            unknown.setdefault(NAMES.get(e.format, f"format {e.format}"), []).append(e.name)
    if unknown:
        shown = "; ".join(f"{form}: {_listed(names)}" for form, names in unknown.items())
        known = ", ".join(f.name for f in FORMATS.values())
        raise IrError(f"tensors have formats without a form in Relay: {shown}", help=f"there is one for {known}")
    seen: set[str] = set()
    for e in table:
        if e.name in seen:
            raise ValueError(f"{e.name} is there twice")
        seen.add(e.name)
        block = FORMATS[e.format].block
        if block > 1 and (not e.shape or e.shape[-1] % block):
            raise ValueError(f"{e.name} has the shape {e.shape}, whose rows are no whole blocks of {block}")


def _listed(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
