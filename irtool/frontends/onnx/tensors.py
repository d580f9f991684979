"""Tensors of ONNX as arrays, and its element types as dtypes."""

from __future__ import annotations

from typing import Any

from ...deferred import np
from ...diagnostics import IrError
from .mistakes import DamagedModel, UnsupportedNode

DTYPES = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    16: "bfloat16",
}
"""Relay's dtype of each TensorProto.DataType that it has."""

_OTHERS = {8: "string", 14: "complex64", 15: "complex128", 17: "float8e4m3fn", 18: "float8e4m3fnuz", 19: "float8e5m2"}
_OTHERS |= {20: "float8e5m2fnuz", 21: "uint4", 22: "int4", 23: "float4e2m1", 24: "float8e8m0", 25: "uint2", 26: "int2"}


def dtype_of(number: int, what: str) -> str:
    """The dtype of an element type. Raises IrError, in which `what` has it, where Relay has none."""
    found = DTYPES.get(number)
    if found is None:
        other = _OTHERS.get(number, f"element type {number}")
        raise IrError(f"{what} has elements of {other}, which Relay does not have", code=UnsupportedNode)
    return found


def read_tensor(proto: Any, what: str = "") -> np.ndarray:
    """The array of a TensorProto whose data is in it; bfloat16 as its bits, uint16.

    Raises IrError, in which `what` (the tensor's name) is damaged, for data that does not fit shape and type.
    """
    what = what or f"the tensor {proto.name or 'without name'}"
    dtype = dtype_of(proto.data_type, what)
    shape = tuple(proto.dims)
    count = 1
    for d in shape:
        count *= d
    if any(d < 0 for d in shape):
        raise IrError(f"{what} has the shape {shape}", code=DamagedModel)
    held = _bits(proto, dtype) if proto.HasField("raw_data") else _listed(proto, dtype)
    if held.size != count:
        raise IrError(f"{what} of shape {shape} needs {count} elements and has {held.size}", code=DamagedModel)
    return held.reshape(shape)


def _numpy_dtype(dtype: str) -> str:
    return "uint16" if dtype == "bfloat16" else dtype


def _bits(proto: Any, dtype: str) -> np.ndarray:
    raw, stored = proto.raw_data, np.dtype(_numpy_dtype(dtype)).newbyteorder("<")
    if len(raw) % stored.itemsize:
        name = proto.name or "without name"
        raise IrError(f"the tensor {name} has {len(raw)} bytes of {dtype}, which is no whole number", code=DamagedModel)
    return np.frombuffer(raw, stored).astype(_numpy_dtype(dtype))


_FIELDS = {"float32": "float_data", "float64": "double_data", "int64": "int64_data"}
_FIELDS |= {"uint32": "uint64_data", "uint64": "uint64_data"}


def _listed(proto: Any, dtype: str) -> np.ndarray:
    values = getattr(proto, _FIELDS.get(dtype, "int32_data"))
    if dtype in ("float16", "bfloat16"):  # held as bits, in the lower half
        bits = np.array(values, "int32").astype("uint16")
        return bits.view("float16") if dtype == "float16" else bits
    return np.array(values).astype(dtype) if len(values) else np.zeros(0, dtype)
