"""Multiplication by a real factor that is held as an integer and a shift, as TensorFlow Lite's reference kernels round it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..shapes import normalize_axis, require_compatible, tensor

_MOST = 31
"""Largest shift to the right: of 31 bits none are left."""


@operator("qnn.rescale", "data", "multiplier", "shift", pattern=Pattern.BROADCAST, attrs="RescaleAttrs", level=11)
@dataclass(frozen=True)
class Rescale(Operator):
    """`data * multiplier / 2**31 * 2**shift` in int32, rounded twice, as `MultiplyByQuantizedMultiplier` of TensorFlow Lite does.

    The product with the multiplier, divided by 2^31, is rounded to the nearest integer, a half up; that, divided by two to the power of
    `-shift` where it is negative, a half away from zero. A positive shift comes before the product. The multiplier is not negative.
    """

    differentiable = False

    precision = "never"

    layout_rule = ""

    axis: int = -1

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """The type of `data`, int32; multiplier and shift are int32, scalars or vectors along `axis`."""
        data, *parameters = (tensor(t, n) for t, n in zip(types, self.arguments, strict=True))
        if data is None or any(p is None for p in parameters):
            return None
        if data.dtype != "int32":
            raise RelationError(f"data must hold int32, not {data.dtype}")
        for parameter, name in zip(parameters, self.arguments[1:], strict=True):
            assert parameter is not None
            if parameter.dtype != "int32" or len(parameter.shape) > 1:
                raise RelationError(f"{name} must be a scalar or a vector of int32, not {parameter}")
            if parameter.shape:
                axis = normalize_axis(self.axis, len(data.shape))
                require_compatible(data.shape[axis], parameter.shape[0], f"axis {axis} of data and axis 0 of {name}")
        return data

    def evaluate(self, data: np.ndarray, multiplier: np.ndarray, shift: np.ndarray) -> np.ndarray:
        m, s = (_along(p, data.ndim, self.axis).astype(np.int64) for p in (multiplier, shift))
        left, right = np.maximum(s, 0), np.minimum(np.maximum(-s, 0), _MOST)
        product = (data.astype(np.int64) << left) * m
        high = (product + (1 << 30)) >> 31
        half = (np.int64(1) << right) >> 1
        return ((high + half - ((high < 0) & (right > 0))) >> right).astype(np.int32)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, multiplier, shift = inputs
        is_along = bool(multiplier.shape or shift.shape)  # of scalars the axis means nothing
        axis = normalize_axis(self.axis, len(out_type.shape)) if is_along else 0
        zero, one = te.const(0, "int64"), te.const(1, "int64")

        def element(*i: Any) -> Any:
            m = te.cast(multiplier[(i[axis],) if multiplier.shape else ()], "int64")
            s = te.cast(shift[(i[axis],) if shift.shape else ()], "int64")
            right = te.min2(te.max2(zero - s, zero), te.const(_MOST, "int64"))
            product = (te.cast(data[i], "int64") << te.max2(s, zero)) * m
            high = (product + te.const(1 << 30, "int64")) >> te.const(31, "int64")
            half = (one << right) >> one
            less = te.select(high < zero, te.min2(right, one), zero)
            return te.cast((high + half - less) >> right, "int32")

        return te.compute(out_type.shape, element, name="rescale", tag="broadcast")


def _along(parameter: np.ndarray, rank: int, axis: int) -> np.ndarray:
    """A scalar, or a vector shaped to broadcast along an axis."""
    if not parameter.ndim:
        return parameter
    shape = [1] * rank
    shape[axis] = -1
    return parameter.reshape(shape)
