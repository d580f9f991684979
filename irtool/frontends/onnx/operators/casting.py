"""Elements in another type: `Cast`, `CastLike`, `BitCast`."""

from __future__ import annotations

from ..operator import OnnxOperator, Result, onnx_operator, since
from ..tensors import dtype_of
from ..value import Value


def cast(x: Value, dtype: str) -> Value:
    """The value with its elements converted; itself where they have the type."""
    return x if x.dtype == dtype else x.call("cast", dtype=dtype)


@onnx_operator("Cast")
class Cast(OnnxOperator):
    """Elements converted to another type. `saturate` and `round_mode` concern types of 8 bits that Relay does not have."""

    @since(6, 9, 13)
    def convert_elements(self, x: Value, *, to: int) -> Result:
        return cast(x, dtype_of(to, "the result of Cast"))

    @since(19, 21, 23)
    def saturating(self, x: Value, *, to: int, saturate: int = 1) -> Result:
        return self.convert_elements(x, to=to)

    @since(24, 25, 28)
    def rounding(self, x: Value, *, to: int, saturate: int = 1, round_mode: str = "up") -> Result:
        return self.convert_elements(x, to=to)


@onnx_operator("CastLike")
class CastLike(OnnxOperator):
    """Elements converted to the type of those of another tensor."""

    @since(15)
    def like(self, x: Value, target: Value) -> Result:
        return cast(x, target.dtype)

    @since(19, 21, 23)
    def saturating(self, x: Value, target: Value, *, saturate: int = 1) -> Result:
        return cast(x, target.dtype)

    @since(24, 25, 28)
    def rounding(self, x: Value, target: Value, *, saturate: int = 1, round_mode: str = "up") -> Result:
        return cast(x, target.dtype)


@onnx_operator("BitCast")
class BitCast(OnnxOperator):
    """The bits of each element read as another type of the same width."""

    @since(26)
    def reinterpret(self, x: Value, *, to: int) -> Result:
        return x.call("reinterpret", dtype=dtype_of(to, "the result of BitCast"))
