"""Initializers as arrays: tensors, tensors in other files, sparse tensors."""

from __future__ import annotations

from typing import Any

from ...deferred import np
from ...diagnostics import IrError
from .elements import NARROW, Narrow
from .mistakes import DamagedModel, UnsupportedNode
from .model import Model
from .tensors import held_dtype, read_tensor

_EXTERNAL = 1
_LARGEST = 1 << 30
"""Bytes of a tensor that stands there with its zeros left out, and is written out here."""


def initializer_dtype(proto: Any) -> str:
    """Relay's dtype of an initializer."""
    values = proto.values if hasattr(proto, "indices") else proto
    return held_dtype(values.data_type, f"the initializer {values.name}")


def initializer_narrow(proto: Any) -> Narrow | None:
    """The narrow type of an initializer's elements, if they have one."""
    return NARROW.get((proto.values if hasattr(proto, "indices") else proto).data_type)


def initializer_shape(proto: Any) -> tuple[int, ...]:
    """The shape of an initializer, without its data being read."""
    return tuple(proto.dims)


def initializer_array(proto: Any, model: Model) -> np.ndarray:
    """The elements of an initializer, wherever they are. Raises IrError if they do not fit, or cannot be read."""
    if hasattr(proto, "indices"):
        return dense_array(proto)
    if proto.data_location == _EXTERNAL:
        if model.read_external is None:
            raise IrError(
                f"the elements of {proto.name} are in another file, and the model has no folder",
                filename=model.name,
                code=UnsupportedNode,
            )
        return model.read_external(proto)
    return read_tensor(proto, f"the initializer {proto.name}")


def dense_array(proto: Any) -> np.ndarray:
    """A SparseTensorProto as the tensor that it stands for. Indices are positions in it, or coordinates, a row each."""
    values = read_tensor(proto.values, f"the initializer {proto.values.name}")
    indices = read_tensor(proto.indices, f"the indices of {proto.values.name}")
    shape = tuple(proto.dims)
    size = values.itemsize
    for d in shape:
        size *= max(d, 1)
    if any(d < 0 for d in shape) or size > _LARGEST:
        raise IrError(
            f"the sparse initializer {proto.values.name} has the shape {shape[:8]}, of more than {_LARGEST >> 20} MB",
            code=UnsupportedNode,
        )
    result = np.zeros(shape, values.dtype)
    try:
        if indices.ndim == 2:
            places: Any = tuple(indices.T)
        else:
            places = np.unravel_index(indices, shape) if indices.size else ((),) * len(shape)
        result[places] = values
    except (IndexError, ValueError, TypeError):
        raise IrError(f"the indices of {proto.values.name} are outside of it", code=DamagedModel) from None
    return result
