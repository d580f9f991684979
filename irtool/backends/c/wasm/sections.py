"""Custom sections of WebAssembly modules: a byte 0, the size of the rest, the size of the name, the name, the content. Sizes are in LEB128."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

WEIGHTS = "irtool.weights"
"""The section with the bytes of the weights file."""
FACTS = "irtool.facts"
"""The section with sizes for callers, as JSON."""

_HEAD = 8


def append_section(module: Path, name: str, content: Iterable[Any], size: int) -> None:
    """Appends a custom section of `size` bytes, which `content` has in pieces."""
    encoded = name.encode()
    head = _leb128(len(encoded)) + encoded
    with module.open("ab") as out:
        out.write(b"\0" + _leb128(len(head) + size) + head)
        for part in content:
            out.write(part)


def read_sections(module: bytes) -> dict[str, memoryview]:
    """The contents of the custom sections by name."""
    view = memoryview(module)
    sections: dict[str, memoryview] = {}
    position = _HEAD
    while position < len(view):
        identity = view[position]
        size, begin = _read_leb128(view, position + 1)
        position = begin + size
        if identity == 0:
            length, name = _read_leb128(view, begin)
            sections[bytes(view[name : name + length]).decode()] = view[name + length : position]
    return sections


def _leb128(value: int) -> bytes:
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def _read_leb128(view: memoryview, position: int) -> tuple[int, int]:
    """The number that begins at a position, and the position behind it."""
    value = shift = 0
    while True:
        byte = view[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position
