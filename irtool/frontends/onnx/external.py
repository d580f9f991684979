"""Tensors whose data is not in the parsed model: it is further back in the model's file, or in files beside it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...deferred import np
from ...diagnostics import IrError
from ...files import open_file
from .mistakes import DamagedModel, UnsupportedNode
from .tensors import byte_size, count_elements, from_raw

MAPPED = 1 << 26
"""Bytes of a file from which it is mapped: what is never looked at then takes no memory, and no time, and what is can be dropped.
Smaller ones are read, so that they may be written anew while their weights are in use."""
VIEWED = 1 << 16
"""Bytes of a tensor of a mapped file from which it stays there. It may stand at any offset: what hands addresses to compiled code
copies what is not aligned."""
_DIGITS = 19
"""Of an offset or a length: more are no number of bytes."""


@dataclass(frozen=True)
class Elsewhere:
    """Reads the elements of tensors whose data was left where it is, each once.

    Attributes:
        name: name of the model in messages; its path, if it has a folder.
        folder: the only one from which files are read; empty if there is none.
        ranges: offset and length of data in the model's own bytes, by the tensor's name.
        data: these bytes, where they came through a pipe; else they are in the file `name`.
        maps: the files that are mapped, by path, each once however many tensors it has; None for a file that is read.
    """

    name: str
    folder: str = ""
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    data: bytes | None = None
    maps: dict[str, np.ndarray | None] = field(default_factory=dict, repr=False)

    def __call__(self, proto: Any) -> np.ndarray:
        """The elements of a tensor. Raises IrError for data that does not fit, and for files that must not be read."""
        what = f"the initializer {proto.name}"
        dtype, count = count_elements(proto, what)
        size = byte_size(dtype, count)
        if proto.name in self.ranges and not proto.external_data:
            return self._own(proto, what, dtype, size)
        return self._external(proto, what, dtype, size)

    def _own(self, proto: Any, what: str, dtype: str, size: int) -> np.ndarray:
        offset, length = self.ranges[proto.name]
        if length != size:
            raise IrError(
                f"{what} of shape {tuple(proto.dims)} needs {size} bytes and has {length}",
                filename=self.name,
                code=DamagedModel,
            )
        if self.data is not None:
            return from_raw(memoryview(self.data)[offset : offset + length], dtype, proto.dims)
        return self._read(self.name, offset, size, dtype, proto, what)

    def _external(self, proto: Any, what: str, dtype: str, size: int) -> np.ndarray:
        entries = {str(e.key): str(e.value) for e in proto.external_data}
        location = entries.get("location", "")
        if not self.folder:
            raise IrError(
                f"the elements of {proto.name} are in another file, and the model has no folder",
                filename=self.name,
                help="name the model's file: its data is looked for beside it",
                code=UnsupportedNode,
            )
        path = self._inside(location, what)
        offset, length = (self._number(entries, key, what) for key in ("offset", "length"))
        if length and length != size:
            raise IrError(f"{what} needs {size} bytes, not {length}", filename=self.name, code=DamagedModel)
        try:
            file_size = os.path.getsize(path)
        except (OSError, ValueError) as error:
            raise self._unreadable(location, what, error) from None
        if file_size < offset + size:
            raise IrError(
                f"{what} needs {size} bytes at {offset} of {location}, which has {file_size}",
                filename=self.name,
                code=DamagedModel,
            )
        return self._read(path, offset, size, dtype, proto, what)

    def _number(self, entries: Mapping[str, str], key: str, what: str) -> int:
        text = entries.get(key) or "0"
        if not text.isascii() or not text.isdigit() or len(text) > _DIGITS:
            raise IrError(f"{what} has the {key} {text[:40]!r}: no number", filename=self.name, code=DamagedModel)
        return int(text)

    def _read(self, path: str, offset: int, size: int, dtype: str, proto: Any, what: str) -> np.ndarray:
        """The elements at an offset of a file, which has as many as the caller has seen."""
        if not size:
            return from_raw(b"", dtype, proto.dims)
        try:
            whole = self._map(path) if size >= VIEWED else None
            if whole is not None and offset + size <= len(whole):
                return from_raw(whole[offset : offset + size], dtype, proto.dims)
            with open_file(path) as file:
                file.seek(offset)
                buffer = np.empty(size, np.uint8)
                got = file.readinto(buffer.data)
        except (OSError, ValueError) as error:
            raise self._unreadable(os.path.basename(path), what, error) from None
        if got != size:
            raise IrError(
                f"{what} ends after {got} of {size} bytes: {os.path.basename(path)} is being written",
                filename=self.name,
                code=DamagedModel,
            )
        return from_raw(buffer, dtype, proto.dims)

    def _map(self, path: str) -> np.ndarray | None:
        """The bytes of a large file; None for others. Raises OSError."""
        if path not in self.maps:
            with open_file(path) as file:
                is_large = os.fstat(file.fileno()).st_size >= MAPPED
                self.maps[path] = np.memmap(file, np.uint8, mode="r") if is_large else None
        return self.maps[path]

    def _unreadable(self, location: str, what: str, error: Exception) -> IrError:
        why = getattr(error, "strerror", None) or error
        return IrError(f"cannot read {location}, which has {what}: {why}", filename=self.name, code=DamagedModel)

    def _inside(self, location: str, what: str) -> str:
        """The path of a file of the folder. Raises IrError for any other: absolute, in another folder, behind a link."""
        real = os.path.realpath(self.folder)
        is_plain = location and not {"\0", "\\"} & set(location) and ".." not in location.split("/")
        if not is_plain or os.path.isabs(location) or location[1:2] == ":":
            raise self._outside(location, what)
        path = os.path.realpath(os.path.join(real, location))
        if os.path.commonpath([real, path]) != real or path == real:
            raise self._outside(location, what)
        return path

    def _outside(self, location: str, what: str) -> IrError:
        return IrError(
            f"{what} is said to be in {location or 'a file without name'}: only files in the model's folder are read",
            filename=self.name,
            code=DamagedModel,
        )
