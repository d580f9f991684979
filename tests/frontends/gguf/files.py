"""GGUF files from arrays: the format's own layout, without the package."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from irtool.parser.gguf_formats import FORMATS

ALIGNMENT = 32
Packed = tuple[str, tuple[int, ...], bytes]
"""A tensor in blocks: its format, its shape, and its bytes."""


def text(s: str) -> bytes:
    """A string of the format."""
    return struct.pack("<Q", len(s.encode())) + s.encode()


def _value(value: Any) -> bytes:
    """A value of metadata behind the number of its type."""
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    kinds = {str: 8, int: 5, float: 6}
    items = b"".join(text(v) if isinstance(v, str) else _value(v)[4:] for v in value)
    return struct.pack("<IIQ", 9, kinds[type(value[0])], len(value)) + items


def gguf(metadata: Mapping[str, Any], tensors: Mapping[str, np.ndarray | Packed]) -> bytes:
    """The bytes of a file: arrays of float16, float32, and packed tensors."""
    table, data = b"", b""
    numbers = {f.name: n for n, f in FORMATS.items()}
    for name, tensor in tensors.items():
        if isinstance(tensor, np.ndarray):
            tensor = (
                {"float16": "F16", "float32": "F32", "int32": "I32"}[str(tensor.dtype)],
                tensor.shape,
                tensor.tobytes(),
            )
        form, shape, raw = tensor
        table += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape[::-1], numbers[form], len(data))
        data += raw + bytes(-len(raw) % ALIGNMENT)
    pairs = b"".join(text(k) + _value(v) for k, v in metadata.items())
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata)) + pairs + table
    return head + bytes(-len(head) % ALIGNMENT) + data
