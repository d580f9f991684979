"""Hashes of plain values: bytes, numbers, dtypes; and of the nodes that hold nothing else."""

from __future__ import annotations

import hashlib
import re
import struct
from functools import lru_cache
from typing import Any

_MASK = (1 << 64) - 1
_SEED = 0xC70F6907
_MULTIPLIER = 0xC6A4A7935BD1E995
_GOLDEN = 0x9E3779B9
_CODES = {"int": 0, "uint": 1, "float": 2, "handle": 3, "bfloat": 4}
_LARGE = 1 << 16
"""Bytes of data above which a digest stands for TVM's hash of them."""


def hash_bytes(data: bytes | memoryview) -> int:
    """MurmurHash64A by A. Appleby, as GNU's C++ library uses it for strings: 8 bytes a step, little-endian."""
    whole, rest = divmod(len(data), 8)
    h = _SEED ^ (len(data) * _MULTIPLIER & _MASK)
    for (k,) in struct.iter_unpack("<Q", data[: 8 * whole]):
        k = k * _MULTIPLIER & _MASK
        h = (h ^ ((k ^ k >> 47) * _MULTIPLIER & _MASK)) * _MULTIPLIER & _MASK
    if rest:
        h = (h ^ int.from_bytes(data[8 * whole :], "little")) * _MULTIPLIER & _MASK
    h = (h ^ h >> 47) * _MULTIPLIER & _MASK
    return h ^ h >> 47


def combine(key: int, value: int) -> int:
    """The hash `key` with `value` taken in."""
    return key ^ (value + _GOLDEN + (key << 6) + (key >> 2)) & _MASK


@lru_cache(maxsize=4096)
def text(value: str) -> int:
    """The hash of a string that is written in place, and of a type key."""
    return hash_bytes(value.encode("utf-8", "surrogatepass"))


def integer(value: int) -> int:
    """The hash of an integer or a flag: the number itself, in two's complement."""
    return int(value) & _MASK


def real(value: float) -> int:
    """The hash of a double; both zeros have the same."""
    return hash_bytes(struct.pack("<d", value)) if value else 0


@lru_cache(maxsize=256)
def dtype(name: str) -> int:
    """The hash of a dtype: code, bits and lanes side by side. No dtype is a handle of no bits."""
    if not name:
        return _CODES["handle"]
    if name.startswith("bool"):
        name = f"uint1{name[4:]}"
    match = re.fullmatch(r"([a-z]+)(\d*)(?:x(\d+))?", name)
    if match is None or match[1] not in _CODES:
        return text(name)
    bits = int(match[2] or (64 if match[1] == "handle" else 32))
    return _CODES[match[1]] | bits << 8 | int(match[3] or 1) << 16


def leaf(type_key: str, *parts: int) -> int:
    """The hash of a node whose parts are values."""
    h = text(type_key)
    for part in reversed(parts):
        h = combine(h, part)
    return h


@lru_cache(maxsize=4096)
def string_node(value: str) -> int:
    """The hash of a string that is a node of its own."""
    return leaf("runtime.String", text(value))


@lru_cache(maxsize=4096)
def integer_node(value: int, of: str = "int32") -> int:
    """The hash of an integer that is a node of its own."""
    return leaf("IntImm", dtype(of), integer(value))


def float_node(value: float, of: str = "float32") -> int:
    """The hash of a floating-point number that is a node of its own."""
    return leaf("FloatImm", dtype(of), real(value))


def tensor_node(array: Any, of: str) -> int:
    """The hash of a tensor: its dtype, rank, shape and the bytes of its data. `array` is a numpy array.

    Beyond 64 KB it is not TVM's number any more.
    """
    import numpy as np

    data = memoryview(np.ascontiguousarray(array).tobytes())
    # TVM's hash goes byte by byte, which takes Python seconds for the weights of a network.
    if len(data) > _LARGE:
        content = int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")
    else:
        content = hash_bytes(data)
    return leaf("runtime.NDArray", dtype(of), array.ndim, *map(int, array.shape), content)
