"""Sums, differences and products of quantized tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...deferred import np
from ...ir import TensorType, Type
from ..base import RelationError, Reporter, operator
from ..relations import broadcast
from ..shapes import tensor
from .fixed_point import along, requantize, saturate
from .parameters import (
    INTEGERS,
    Quantized,
    assign_parameter,
    channel_axis,
    is_scalar,
    known,
    require_dtype,
    require_scalar,
    require_scales,
)

_ARGUMENTS = (
    "lhs",
    "rhs",
    "lhs_scale",
    "lhs_zero_point",
    "rhs_scale",
    "rhs_zero_point",
    "output_scale",
    "output_zero_point",
)


class QuantizedBinary(Quantized):
    """Both sides broadcast; each has its own scale and zero point, per channel of its axis or for all."""

    lhs_axis: int
    rhs_axis: int

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """Two quantized tensors of one dtype, broadcast; scales are float32, zero points int32, scalars or one for each
        channel.
        """
        lhs, rhs = tensor(types[0], "the left side"), tensor(types[1], "the right side")
        if lhs is None or rhs is None or not known(types, range(2, 8)):
            return None
        require_dtype(lhs, INTEGERS, "the left side")
        for side, name, own_axis, first in ((lhs, "lhs_axis", self.lhs_axis, 2), (rhs, "rhs_axis", self.rhs_axis, 4)):
            rank = len(side.shape)
            single = is_scalar(types[first]) and is_scalar(types[first + 1])
            axis = channel_axis(own_axis, rank, name, needed=not single) if rank > 1 else 0
            size = side.shape[axis] if 0 <= axis < rank else 1
            assign_parameter(types, first, "float32", size, reporter, f"the scale before {name}")
            assign_parameter(types, first + 1, "int32", size, reporter, f"the zero point before {name}")
        require_scalar(types[6], "float32", "the output scale")
        require_scalar(types[7], "int32", "the output zero point")
        require_scales(reporter, (2, 4), 6)
        return broadcast(types[:2], reporter)

    def sides(self, args: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Both sides in int32 at the output's scale and zero point, and that zero point."""
        lhs, rhs, *rest = args
        scale, zero = rest[4], rest[5]
        a = requantize(lhs, rest[0], rest[1], scale, zero, "int32", self.lhs_axis)
        b = requantize(rhs, rest[2], rest[3], scale, zero, "int32", self.rhs_axis)
        return a, b, np.int32(zero)  # type: ignore[return-value]  # numpy scalars are arrays of rank 0


@operator("qnn.add", *_ARGUMENTS, "lhs_axis", "rhs_axis", attrs="BroadcastAttrs", level=11, arity=8)
@dataclass(frozen=True)
class QuantizedAdd(QuantizedBinary):
    """Both sides requantized to the output, added, minus one zero point."""

    lhs_axis: int = -1
    rhs_axis: int = -1

    def evaluate(self, *args: np.ndarray) -> np.ndarray:
        a, b, zero = self.sides(args)
        return saturate(a + b - zero, args[0].dtype)


@operator("qnn.subtract", *_ARGUMENTS, "lhs_axis", "rhs_axis", attrs="BroadcastAttrs", level=11, arity=8)
@dataclass(frozen=True)
class QuantizedSubtract(QuantizedBinary):
    """Both sides requantized to the output, subtracted, with the zero point put back."""

    lhs_axis: int = -1
    rhs_axis: int = -1

    def evaluate(self, *args: np.ndarray) -> np.ndarray:
        a, b, zero = self.sides(args)
        return saturate(a - b + zero, args[0].dtype)


@operator("qnn.mul", *_ARGUMENTS, "lhs_axis", "rhs_axis", attrs="BroadcastAttrs", level=11, arity=8)
@dataclass(frozen=True)
class QuantizedMul(QuantizedBinary):
    """The int32 product of both sides minus their zero points, requantized from the product of the scales."""

    lhs_axis: int = -1
    rhs_axis: int = -1

    def evaluate(self, *args: np.ndarray) -> np.ndarray:
        lhs, rhs, lhs_scale, lhs_zero, rhs_scale, rhs_zero, scale, zero = args
        if (lhs_scale.ndim or rhs_scale.ndim) and self.lhs_axis != self.rhs_axis:
            raise RelationError("qnn.mul needs both operands quantized along the same axis")
        a = lhs.astype(np.int32) - along(lhs_zero, lhs.ndim, self.lhs_axis).astype(np.int32)
        b = rhs.astype(np.int32) - along(rhs_zero, rhs.ndim, self.rhs_axis).astype(np.int32)
        both = np.asarray(lhs_scale, np.float32) * np.asarray(rhs_scale, np.float32)
        return requantize(a * b, both, np.int32(0), scale, zero, str(lhs.dtype), self.lhs_axis)  # type: ignore[arg-type]  # numpy scalars are arrays of rank 0
