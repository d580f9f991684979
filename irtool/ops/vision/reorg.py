"""`vision.yolo_reorg`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...ir import TensorType, Type
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..shape.reshape import flatten, unflatten
from ..shapes import compatible, floordiv, floormod, mul, require_rank, tensor


@operator("vision.yolo_reorg", "data", pattern=Pattern.INJECTIVE, attrs="YoloReorgAttrs", level=5)
@dataclass(frozen=True)
class YoloReorg(Operator):
    """YOLO's passthrough layer: `(n, c, h, w)` to `(n, c * s * s, h / s, w / s)`, in the order of Darknet.

    Darknet reads the data as `(n, c / s², h * s, w * s)`; channel k of the result is pixel `k // (c / s²)` of its s by s
    blocks in channel `k % (c / s²)`, and the elements so found are read in row-major order.
    """

    stride: int = 1

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; channels times `stride ** 2`, height and width divided by `stride`."""
        data = tensor(types[0])
        if data is None:
            return None
        require_rank(data, 4, "data")
        s = self.stride
        if s < 1:
            raise RelationError(f"stride is {s}; it must be positive")
        n, c, h, w = data.shape
        for axis, extent, by in ((1, c, s * s), (2, h, s), (3, w, s)):
            if not compatible(floormod(extent, by), 0):
                raise RelationError(f"axis {axis} is {extent}, which {by} does not divide")
        return TensorType((n, mul(mul(c, s), s), floordiv(h, s), floordiv(w, s)), data.dtype)

    def evaluate(self, data: Any) -> Any:
        s = self.stride
        n, c, h, w = data.shape
        depth = c // (s * s)
        view = data.reshape(n, depth, h, s, w, s)
        moved = view.transpose(0, 3, 5, 1, 2, 4)
        return moved.reshape(n, c * s * s, h // s, w // s)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (data,) = inputs
        s = self.stride
        n, c, h, w = data.shape
        depth = c // (s * s)

        def element(*i: Any) -> Any:
            b, k, y, x = unflatten(flatten(i, out_type.shape), data.shape)
            pixel = te.floordiv(k, depth)
            row, column = y * s + te.floordiv(pixel, s), x * s + te.floormod(pixel, s)
            flat = flatten((b, te.floormod(k, depth), row, column), (n, depth, h * s, w * s))
            return data[unflatten(flat, data.shape)]

        return te.compute(out_type.shape, element, name="yolo_reorg", tag="injective")
