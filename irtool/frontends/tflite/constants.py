"""The elements of constant tensors."""

from __future__ import annotations

import math

from ...deferred import np
from ...diagnostics import IrError
from ..onnx.mistakes import DamagedModel, UnsupportedNode
from .model import Tensor
from .sparse import dense_array

_ITEM_BYTES = {"bool": 1, "bfloat16": 2}


def has_form(dtype: str) -> bool:
    """True for an element type that Relay has, or holds in another one."""
    return dtype in ("bool", "bfloat16", "float16", "float32", "float64", "int4") or (
        dtype.startswith(("int", "uint")) and dtype.lstrip("uint") in ("8", "16", "32", "64")
    )


def constant_array(tensor: Tensor) -> tuple[np.ndarray, str]:
    """The elements of a constant, and their type in Relay: those of 4 bits as int8, those of bfloat16 as bits.

    Raises IrError for data of another size than the shape says, and for a type that Relay does not have.
    """
    assert tensor.data is not None
    if not has_form(tensor.dtype):
        raise IrError(
            f"the constant {tensor.name} is of {tensor.dtype}, which Relay does not have", code=UnsupportedNode
        )
    if tensor.sparsity is not None:
        return dense_array(tensor)
    count = math.prod(tensor.shape)
    if tensor.dtype == "int4":
        return _unpacked(tensor, count), "int8"
    item = _ITEM_BYTES.get(tensor.dtype) or np.dtype(tensor.dtype).itemsize
    if len(tensor.data) != count * item:
        raise IrError(
            f"the constant {tensor.name} of the shape {tensor.shape} has {len(tensor.data)} bytes, not {count * item}",
            code=DamagedModel,
        )
    if tensor.dtype == "bool":
        return (np.frombuffer(tensor.data, np.uint8) != 0).reshape(tensor.shape), "bool"
    stored = "uint16" if tensor.dtype == "bfloat16" else tensor.dtype
    return np.frombuffer(tensor.data, np.dtype(stored).newbyteorder("<")).astype(stored, copy=False).reshape(
        tensor.shape
    ), tensor.dtype


def _unpacked(tensor: Tensor, count: int) -> np.ndarray:
    """Elements of 4 bits, the lower half of each byte first."""
    assert tensor.data is not None
    raw = np.frombuffer(tensor.data, np.uint8)
    if len(raw) != (count + 1) // 2:
        raise IrError(
            f"the constant {tensor.name} of {count} elements of 4 bits has {len(raw)} bytes", code=DamagedModel
        )
    halves = np.stack([raw & 15, raw >> 4], axis=1).reshape(-1)[:count].astype(np.int8)
    return np.where(halves > 7, halves - 16, halves).astype(np.int8).reshape(tensor.shape)
