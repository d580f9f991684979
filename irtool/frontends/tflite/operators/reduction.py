"""Sums, means and extremes along axes."""

from __future__ import annotations

from typing import ClassVar

from ....deferred import np
from ...onnx.arithmetic import cast
from ...onnx.value import Value, apply
from ..operator import Operand, Result, TfliteOperator, tflite_operator
from ..quantities import multiplier_and_shift, number, plus, require_scalar, stored, zero_of

_NAMES = {
    "SUM": "sum",
    "REDUCE_PROD": "prod",
    "REDUCE_MAX": "max",
    "REDUCE_MIN": "min",
    "REDUCE_ANY": "any",
    "REDUCE_ALL": "all",
    "MEAN": "mean",
}


class _Reduction(TfliteOperator):
    def axes(self, x: Operand, axes: Operand) -> list[int]:
        """The axes, each once: the kernels take one that comes twice as one."""
        places = (x.value.axis(a) for a in axes.array("the axes of a reduction").ravel().tolist())
        return sorted(set(places))


@tflite_operator("REDUCE_MAX", "REDUCE_MIN", "REDUCE_ANY", "REDUCE_ALL", "REDUCE_PROD")
class Reduction(_Reduction):
    """Products and extremes along axes, and whether any or all elements are true."""

    def convert(self, x: Operand, axes: Operand, *, keep_dims: bool = False) -> Result:
        along = self.axes(x, axes)
        if (
            self.node.op_type == "REDUCE_PROD"
            and self.is_quantized
            and x.q is not None
            and x.dtype in ("int8", "int16")
        ):
            raise self.refuse(f"elements of {x.dtype} with scales")
        if not along:
            return x.value
        return x.call(_NAMES[self.node.op_type], axis=along, keepdims=keep_dims)


@tflite_operator("SUM", "MEAN")
class Mean(_Reduction):
    """Sums and means along axes; of quantized tensors in integers."""

    def convert(self, x: Operand, axes: Operand, *, keep_dims: bool = False) -> Result:
        along = self.axes(x, axes)
        if x.q is not None and self.is_quantized and x.dtype in ("int8", "uint8", "int16"):
            return self._integers(x, along, keep_dims)
        if x.dtype in ("int32", "int64") and self.node.op_type == "MEAN":
            return self._whole(x, along, keep_dims)
        if not along:
            return x.value
        return x.call("sum" if self.node.op_type == "SUM" else "mean", axis=along, keepdims=keep_dims)

    def _count(self, x: Operand, along: list[int]) -> int:
        return int(np.prod([x.shape[a] for a in along], dtype=np.int64))

    def _whole(self, x: Operand, along: list[int], keep_dims: bool) -> Value:
        """Means of integers, rounded towards zero."""
        total = cast(x.value, "int64").call("sum", axis=along, keepdims=keep_dims)
        count = Value.constant(np.int64(max(self._count(x, along), 1)))
        return cast(apply("trunc_divide", total, count), x.dtype)

    def _integers(self, x: Operand, along: list[int], keep_dims: bool) -> Value:
        own, out = require_scalar(x), self.out_q
        count = self._count(x, along)
        wide = cast(x.value, "int32")
        total = wide.call("sum", axis=along, keepdims=keep_dims) if along else wide
        centred = plus(total, -zero_of(own) * count)
        multiplier, shift = multiplier_and_shift(float(own.scales[0]) / float(out.scales[0]))
        if self.node.op_type == "MEAN":
            bits = min(count.bit_length() - 1, 32, 31 + shift)
            multiplier, shift = (multiplier << bits) // count, shift - bits
        scaled = apply("qnn.rescale", centred, number(multiplier), number(shift))
        return stored(scaled, out, x.dtype)


@tflite_operator("CUMSUM")
class CumSum(TfliteOperator):
    """Running sums along an axis."""

    types: ClassVar[tuple[str, ...]] = ("float32", "int32", "int64")

    def convert(self, x: Operand, axis: Operand, *, exclusive: bool = False, reverse: bool = False) -> Result:
        place = x.value.axis(axis.value.number("the axis of CUMSUM"))
        data = x.call("reverse", axis=place) if reverse else x.value
        y = data.call("cumsum", axis=place, exclusive=exclusive)
        return y.call("reverse", axis=place) if reverse else y
