"""Shapes as values, and tensors in other shapes."""

from __future__ import annotations

from ....deferred import np
from ....diagnostics import IrError
from ..mistakes import DamagedModel
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..value import Value


@onnx_operator("Identity")
class Identity(OnnxOperator):
    """The value itself."""

    @since(1, 13, 14, 16, 19, 21)
    def same(self, x: Value) -> Result:
        return x


@onnx_operator("Shape")
class Shape(OnnxOperator):
    """The extents of a tensor, from axis `start` to `end`; a constant where they are known."""

    @since(1, 13)
    def whole(self, x: Value) -> Result:
        return self.part(x)

    @since(15, 19, 21)
    def part(self, x: Value, *, start: int = 0, end: int | None = None) -> Result:
        if all(isinstance(d, int) for d in x.shape):
            return Value.constant(np.array(x.shape, "int64")[start:end])
        return x.call("shape_of", dtype="int64").call(
            "strided_slice", begin=[start], end=[x.rank if end is None else end]
        )


@onnx_operator("Reshape")
class Reshape(OnnxOperator):
    """The same elements in another shape; -1 stands for what is left, 0 for the extent of the input."""

    @since(1)
    def by_attribute(self, x: Value, *, shape: tuple[int, ...]) -> Result:
        return x.call("reshape", newshape=list(shape))

    @since(5, 13)
    def by_input(self, x: Value, shape: Value) -> Result:
        return self.allowing_zero(x, shape)

    @since(14, 19, 21)
    def allowing_zero(self, x: Value, shape: Value, *, allowzero: int = 0) -> Result:
        if shape.known is None:
            return x.call("dyn.reshape", shape)
        wanted = list(shape.ints("the shape of Reshape"))
        if allowzero and 0 in wanted:
            if -1 in wanted:
                raise IrError("a shape with 0 as an extent and -1 as what is left is ambiguous", code=DamagedModel)
            return x.call("reshape", newshape=wanted, allowzero=True)
        return x.call("reshape", newshape=wanted)
