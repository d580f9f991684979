"""Multiplication by real factors held as integers and shifts, one for each channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import te
from ..deferred import np
from ..ir import Type
from .base import Operator, Pattern, RelationError, Reporter, operator
from .elementwise import MOST_RIGHT as _MOST
from .shapes import require_compatible, require_rank, tensor


@operator(
    "fixed_point_multiply_per_axis",
    "data",
    "fp_multiplier",
    "left_shift",
    "right_shift",
    pattern=Pattern.BROADCAST,
    attrs="FixedPointMultiplyPerAxisAttrs",
    declares_attrs=False,
)
@dataclass(frozen=True, kw_only=True)
class FixedPointMultiplyPerAxis(Operator):
    """`data * fp_multiplier / 2**31 * 2**(left_shift - right_shift)`, in integers of 64 bits, halves rounded up.

    The three parameters have the axes `axes` of the data. Left shifts are made only with `is_lshift_required`.
    """

    differentiable = False

    is_lshift_required: bool = False
    is_rshift_required: bool = False
    axes: tuple[int, ...]

    since = "0.11"

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The type of `data`, integers; multipliers and shifts are int32, with the extents that the data has at `axes`."""
        data, *parameters = (tensor(t, n) for t, n in zip(types, self.arguments, strict=True))
        if data is None or any(p is None for p in parameters):
            return None
        if "int" not in data.dtype:
            raise RelationError(f"data must hold integers, not {data.dtype}")
        for axis in self.axes:
            if not 0 <= axis < len(data.shape):
                raise RelationError(f"axis {axis} is out of range for data of rank {len(data.shape)}")
        for parameter, name in zip(parameters, self.arguments[1:], strict=True):
            assert parameter is not None
            if parameter.dtype != "int32":
                raise RelationError(f"{name} must hold int32, not {parameter.dtype}")
            require_rank(parameter, len(self.axes), name)
            for i, axis in enumerate(self.axes):
                require_compatible(data.shape[axis], parameter.shape[i], f"axis {axis} of data and axis {i} of {name}")
        return data

    def evaluate(self, data: np.ndarray, multiplier: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        shape = [1] * data.ndim
        for axis in self.axes:
            shape[axis] = data.shape[axis]
        order = np.argsort(self.axes, kind="stable")
        m, l, r = (p.transpose(order).reshape(shape).astype(np.int64) for p in (multiplier, left, right))
        x = data.astype(np.int64)
        total = r + 31
        product = (x << l if self.is_lshift_required else x) * m
        shift_count = np.minimum(total, _MOST)
        shifted = (product + (np.int64(1) << (shift_count - 1))) >> shift_count
        return np.where(total > _MOST, 0, shifted).astype(data.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, multiplier, left, right = inputs
        one = te.const(1, "int64")

        def element(*i: Any) -> Any:
            position = tuple([i[a] for a in self.axes])
            x = te.cast(data[i], "int64")
            if self.is_lshift_required:
                x = x << te.cast(left[position], "int64")
            total = te.cast(right[position], "int64") + te.const(31, "int64")
            shift_count = te.min2(total, te.const(_MOST, "int64"))
            shifted = (x * te.cast(multiplier[position], "int64") + (one << (shift_count - one))) >> shift_count
            none = te.const(0, "int64")
            return te.cast(te.select(total > te.const(_MOST, "int64"), none, shifted), data.dtype)

        return te.compute(out_type.shape, element, name="fixed_point_multiply_per_axis", tag="broadcast")
