"""TVM's binary form of a tensor, as it stands in metadata sections and in parameter files.

Little-endian: magic `0xDD5E40F096B4A13F` and 8 reserved bytes; device type and number (int32 each); rank (int32); dtype
(code and bits, one byte each; lanes, uint16); the dimensions (int64 each); the number of data bytes (int64); the data, of which
integers of 4 bits lie two in a byte.
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

from .narrow import NARROW, pack, packed_bytes, unpack

if TYPE_CHECKING:
    import numpy as np

MAGIC = 0xDD5E40F096B4A13F
_HEAD = struct.Struct("<QQiiiBBH")
_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat"}
_DTYPES = {
    **{f"{kind}{bits}": (code, bits) for code, kind in ((0, "int"), (1, "uint")) for bits in (4, 8, 16, 32, 64)},
    **{f"float{bits}": (2, bits) for bits in (16, 32, 64)},
    "bfloat16": (4, 16),
    "bool": (1, 1),
}
_MAX_RANK = 64


def dtype_of(code: int, bits: int) -> str:
    """The name of a dtype given by code and bits; ValueError where no array can hold it."""
    name = "bool" if (code, bits) == (1, 1) else f"{_CODES.get(code, '?')}{bits}"
    if name not in _DTYPES:
        raise ValueError(f"tensors of dtype code {code} with {bits} bits are not supported")
    return name


def storage(dtype: str) -> str:
    """The numpy dtype that holds `dtype`: bfloat16 as its bits, integers of 4 bits in a byte each."""
    return "uint16" if dtype == "bfloat16" else NARROW.get(dtype, dtype)


def stored_bytes(array: np.ndarray, dtype: str) -> np.ndarray:
    """The bytes of an array's elements as a file holds them, little-endian: a view of the array if it is stored so."""
    import numpy as np

    if dtype in NARROW:
        return pack(array)
    data = np.ascontiguousarray(array)
    if data.dtype.byteorder == ">":
        data = data.astype(data.dtype.newbyteorder("<"))
    return data.reshape(-1).view(np.uint8) if data.size else np.empty(0, np.uint8)


def decode(data: bytes | memoryview, offset: int = 0) -> tuple[np.ndarray, str, int]:
    """Reads one tensor; returns a read-only view of `data`, the dtype's name, and where the tensor ends.

    Raises ValueError, with a sentence, if the bytes are not such a tensor.
    """
    import numpy as np

    if len(data) - offset < _HEAD.size:
        raise ValueError("the tensor is cut off in its header")
    magic, _, _, _, rank, code, bits, lanes = _HEAD.unpack_from(data, offset)
    if magic != MAGIC:
        raise ValueError("the tensor does not start with the magic number")
    if not 0 <= rank <= _MAX_RANK:
        raise ValueError(f"the tensor has rank {rank}")
    if lanes != 1:
        raise ValueError(f"tensors of {lanes}-lane vectors are not supported")
    dtype = dtype_of(code, bits)
    offset += _HEAD.size
    if len(data) - offset < 8 * (rank + 1):
        raise ValueError("the tensor is cut off in its shape")
    *shape, size = struct.unpack_from(f"<{rank + 1}q", data, offset)
    offset += 8 * (rank + 1)
    if any(d < 0 for d in shape):
        raise ValueError(f"the tensor has the shape {tuple(shape)}")
    stored = np.dtype(storage(dtype))
    count = math.prod(shape)
    nbytes = packed_bytes(count) if dtype in NARROW else count * stored.itemsize
    if size != nbytes:
        raise ValueError(f"shape {tuple(shape)} of {dtype} takes {nbytes} bytes, not {size}")
    if len(data) - offset < size:
        raise ValueError(f"the tensor holds {len(data) - offset} of {size} bytes")
    if dtype in NARROW:
        array = unpack(np.frombuffer(data, np.uint8, nbytes, offset), count, dtype).reshape(shape)
    else:
        array = np.frombuffer(data, stored, count, offset).reshape(shape)
    array.flags.writeable = False
    return array, dtype, offset + size


def encode(array: np.ndarray, dtype: str = "") -> bytes:
    """The bytes of one tensor on the CPU. `dtype` names the type of the array's elements if numpy has no such type.

    Raises ValueError for a dtype that the form cannot hold.
    """
    dtype = dtype or str(array.dtype)
    data = stored_bytes(array, dtype).tobytes()
    return header(array.shape, dtype, len(data)) + data


def header(shape: tuple[int, ...], dtype: str, size: int) -> bytes:
    """The header before the `size` bytes of data. Raises ValueError for a dtype that the form cannot hold."""
    if dtype not in _DTYPES:
        raise ValueError(f"tensors of {dtype} cannot be written")
    code, bits = _DTYPES[dtype]
    rank = len(shape)
    return _HEAD.pack(MAGIC, 0, 1, 0, rank, code, bits, 1) + struct.pack(f"<{rank + 1}q", *shape, size)
