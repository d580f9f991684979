"""Elements in another type: `Cast`, `CastLike`, `BitCast`."""

from __future__ import annotations

from dataclasses import replace

from ....diagnostics import IrError
from ..arithmetic import cast
from ..elements import NARROW
from ..mistakes import UnsupportedNode
from ..narrowing import narrowed
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..tensors import dtype_of
from ..value import Value


def _converted(x: Value, to: int, saturate: bool = True, round_mode: str = "up") -> Value:
    if to in NARROW:
        return x if x.narrow is NARROW[to] else narrowed(x, NARROW[to], saturate, round_mode)
    return replace(cast(x, dtype_of(to, "the result of Cast")), narrow=None)


def _like(x: Value, target: Value, saturate: bool = True, round_mode: str = "up") -> Value:
    if target.narrow is None:
        return replace(cast(x, target.dtype), narrow=None)
    return x if x.narrow is target.narrow else narrowed(x, target.narrow, saturate, round_mode)


@onnx_operator("Cast")
class Cast(OnnxOperator):
    """Elements converted to another type; `saturate` and `round_mode` concern narrow types, which wider ones hold."""

    @since(6, 9, 13)
    def convert_elements(self, x: Value, *, to: int) -> Result:
        return _converted(x, to)

    @since(19, 21, 23)
    def saturating(self, x: Value, *, to: int, saturate: int = 1) -> Result:
        return _converted(x, to, bool(saturate))

    @since(24, 25, 28)
    def rounding(self, x: Value, *, to: int, saturate: int = 1, round_mode: str = "up") -> Result:
        return _converted(x, to, bool(saturate), round_mode)


@onnx_operator("CastLike")
class CastLike(OnnxOperator):
    """Elements converted to the type of those of another tensor."""

    @since(15)
    def like(self, x: Value, target: Value) -> Result:
        return _like(x, target)

    @since(19, 21, 23)
    def saturating(self, x: Value, target: Value, *, saturate: int = 1) -> Result:
        return _like(x, target, bool(saturate))

    @since(24, 25, 28)
    def rounding(self, x: Value, target: Value, *, saturate: int = 1, round_mode: str = "up") -> Result:
        return _like(x, target, bool(saturate), round_mode)


@onnx_operator("BitCast")
class BitCast(OnnxOperator):
    """The bits of each element read as another type of the same width."""

    @since(26)
    def reinterpret(self, x: Value, *, to: int) -> Result:
        if x.narrow is not None:
            raise IrError(f"the bits of {x.narrow.name} have no form in Relay", code=UnsupportedNode)
        dtype = dtype_of(to, "the result of BitCast")
        if "bool" in (x.dtype, dtype):  # a byte that is 1 or 0
            return cast(x, dtype)
        return x.call("reinterpret", dtype=dtype)
