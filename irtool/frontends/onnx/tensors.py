"""Tensors of ONNX as arrays, and its element types as dtypes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ...deferred import np
from ...diagnostics import IrError
from ...exports.onnx.dtypes import ELEMENT_TYPES
from .elements import BY_NAME, NARROW, decoded
from .memory_limit import require_shape
from .mistakes import DamagedModel, UnsupportedNode

DTYPES = {number: dtype for dtype, number in ELEMENT_TYPES.items()}
"""Relay's dtype of each TensorProto.DataType that it has."""

_OTHERS = {8: "string", 14: "complex64", 15: "complex128", **{number: n.name for number, n in NARROW.items()}}


def held_dtype(number: int, what: str) -> str:
    """As `dtype_of`; for a narrow type the dtype that holds its values."""
    return NARROW[number].storage_dtype if number in NARROW else dtype_of(number, what)


def dtype_of(number: int, what: str) -> str:
    """The dtype of an element type. Raises IrError, naming the tensor by `what`, if Relay has none."""
    result = DTYPES.get(number)
    if result is None:
        other = _OTHERS.get(number, f"element type {number}")
        raise IrError(f"{what} has elements of {other}, which Relay does not have", code=UnsupportedNode)
    return result


def count_elements(proto: Any, what: str) -> tuple[str, int]:
    """The dtype, or the name of the narrow type, and the number of elements that a TensorProto says it has.

    Raises IrError for dtypes and shapes that no tensor can have.
    """
    dtype = NARROW[proto.data_type].name if proto.data_type in NARROW else dtype_of(proto.data_type, what)
    require_shape(proto.dims, what)
    return dtype, math.prod(proto.dims)


def read_tensor(proto: Any, what: str = "") -> np.ndarray:
    """The array of a TensorProto whose data is in it; bfloat16 as its bits, uint16.

    Raises IrError, in which `what` (the tensor's name) is damaged, for data that does not fit shape and type.
    """
    what = what or f"the tensor {proto.name or 'without name'}"
    dtype, count = count_elements(proto, what)
    shape = tuple(proto.dims)
    if proto.HasField("raw_data"):
        raw, size = proto.raw_data, byte_size(dtype, count)
        if len(raw) != size:
            raise IrError(
                f"{what} of shape {shape} needs {size} bytes of {dtype} and has {len(raw)}", code=DamagedModel
            )
        return from_raw(raw, dtype, shape)
    if dtype in BY_NAME:
        packed = np.array(proto.int32_data, "int64").astype("uint8")
        if packed.size != byte_size(dtype, count):
            raise IrError(f"{what} of shape {shape} has {packed.size} bytes of {dtype}", code=DamagedModel)
        return from_raw(packed, dtype, shape)
    values = _listed(proto, dtype, what)
    if values.size != count:
        raise IrError(f"{what} of shape {shape} needs {count} elements and has {values.size}", code=DamagedModel)
    return values.reshape(shape)


def numpy_dtype(dtype: str) -> str:
    """numpy's dtype for arrays of a dtype."""
    return "uint16" if dtype == "bfloat16" else dtype


def byte_size(dtype: str, count: int) -> int:
    """The bytes of that many elements, of a dtype or of a narrow type."""
    if dtype in BY_NAME:
        return -(-count * BY_NAME[dtype].bits // 8)
    return count * np.dtype(numpy_dtype(dtype)).itemsize


def from_raw(raw: Any, dtype: str, shape: Iterable[int]) -> np.ndarray:
    """The array of little-endian bytes, which is not copied where the machine has them so, too."""
    if dtype in BY_NAME:
        shape = tuple(shape)
        return decoded(raw, BY_NAME[dtype], math.prod(shape)).reshape(shape)
    if dtype == "bool":
        return (np.frombuffer(raw, "uint8") != 0).reshape(tuple(shape))
    target_dtype = np.dtype(numpy_dtype(dtype))
    return np.frombuffer(raw, target_dtype.newbyteorder("<")).astype(target_dtype, copy=False).reshape(tuple(shape))


_FIELDS = {"float32": "float_data", "float64": "double_data", "int64": "int64_data"}
_FIELDS |= {"uint32": "uint64_data", "uint64": "uint64_data"}


def _listed(proto: Any, dtype: str, what: str) -> np.ndarray:
    values = getattr(proto, _FIELDS.get(dtype, "int32_data"))
    if dtype in ("float16", "bfloat16"):  # held as bits, in the lower half
        bits = np.array(values, "int32").astype("uint16")
        return bits.view("float16") if dtype == "float16" else bits
    if not len(values):
        return np.zeros(0, dtype)
    array = np.array(values)
    result = array.astype(dtype)
    if array.dtype.kind in "iu" and dtype != "bool" and not np.array_equal(result, array):
        raise IrError(f"{what} has numbers that {dtype} does not hold", code=DamagedModel)
    return result
