"""Elements that indices name."""

from __future__ import annotations

from ....deferred import np
from ....diagnostics import IrError
from ..mistakes import DamagedModel
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..value import Value


@onnx_operator("Gather")
class Gather(OnnxOperator):
    """The slices along an axis that the indices name; those below 0 count from the end."""

    @since(1, 11, 13)
    def slices(self, x: Value, indices: Value, *, axis: int = 0) -> Result:
        at = x.axis(axis)
        extent = x.shape[at]
        if indices.known is None or indices.parameter or not isinstance(extent, int):
            return x.call("take", indices, axis=at, mode="wrap")
        return x.call("take", counted_from_front(indices, extent), axis=at)


def counted_from_front(indices: Value, extent: int) -> Value:
    """Known indices along an axis of that extent, none below 0. Raises IrError for those out of range."""
    known = indices.array("the indices")
    if known.size and not (-extent <= int(known.min()) and int(known.max()) < extent):
        raise IrError(
            f"an index is out of range: they are {known.min()} to {known.max()}, the extent is {extent}",
            code=DamagedModel,
        )
    return Value.constant(np.where(known < 0, known + extent, known), indices.dtype) if known.size else indices
