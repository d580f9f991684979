"""Quantized tensors with constant parameters, and bounds of their integers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...deferred import np
from ...ir import Call, Constant, Expr, TensorType
from ...ops.base import call, is_call_to
from ...ops.qnn.fixed_point import limits
from ..core.constants import array_constant, has_data

BYTES = ("int8", "uint8")


@dataclass(frozen=True, eq=False)
class QuantizedTensor:
    """A tensor of integers that stands for `(expr - zero) * scale`.

    Attributes:
        expr: the integers.
        shape: their shape.
        dtype: their type.
        scale: float32, of rank 0, or of rank 1 along `axis`.
        zero: int32, likewise.
        axis: the axis of vectors of quantities, counted from the first dimension; 0 for numbers.
        bound: the largest magnitude of an integer.
        centred: `expr - zero` in float32, where it was made on the way to `expr` and nothing else reads that.
    """

    expr: Expr
    shape: tuple[Any, ...]
    dtype: str
    scale: np.ndarray
    zero: np.ndarray
    axis: int
    bound: int
    centred: Expr | None = None

    @property
    def is_uniform(self) -> bool:
        """True for one scale and one zero point."""
        return not self.scale.ndim and not self.zero.ndim

    def is_quantized_like(self, other: QuantizedTensor) -> bool:
        """Equal types, scales and zero points, bit by bit."""
        return (
            self.dtype == other.dtype
            and (self.is_uniform or self.axis == other.axis)
            and np.array_equal(self.scale, other.scale)
            and np.array_equal(self.zero, other.zero)
        )

    def along(self, values: np.ndarray) -> np.ndarray:
        """A scale or zero point shaped so that it broadcasts to the tensor."""
        if not values.ndim:
            return values
        return values.reshape([-1 if n == self.axis else 1 for n in range(self.axis, len(self.shape))])

    def dequantized(self) -> Call:
        """The real numbers."""
        axis = -1 if self.is_uniform else self.axis
        values = np.broadcast_arrays(self.scale, self.zero)
        scale, zero = array_constant(np.asarray(values[0]), "float32"), array_constant(np.asarray(values[1]), "int32")
        return call("qnn.dequantize", self.expr, scale, zero, axis=axis)


def quantized_tensor(e: Expr, type_of: Callable[[Expr], Any], bounds: dict[Expr, int]) -> QuantizedTensor | None:
    """The operand of a dequantize. None for other calls, for parameters other than constants, and for scales that are not positive.

    `bounds` has those of integers that are known better than by their type.
    """
    if not is_call_to(e, "qnn.dequantize"):
        return None
    data, scale, zero = e.args
    quantities, type_, real = parameters(scale, zero), type_of(data), type_of(e)
    if (
        quantities is None
        or not isinstance(type_, TensorType)
        or not isinstance(real, TensorType)
        or real.dtype != "float32"
    ):
        return None
    axis = e.attrs.axis % len(type_.shape) if quantities[0].ndim or quantities[1].ndim else 0
    low, high = limits(type_.dtype)
    return QuantizedTensor(data, tuple(type_.shape), type_.dtype, *quantities, axis, bounds.get(data, max(-low, high)))


def parameters(scale: Expr, zero: Expr) -> tuple[np.ndarray, np.ndarray] | None:
    """Scale and zero point as arrays of rank 0, or of 1 if they differ along an axis; None if they are no constants, or make no numbers."""
    if not (isinstance(scale, Constant) and isinstance(zero, Constant) and has_data(scale) and has_data(zero)):
        return None
    s, z = (np.asarray(x.data) for x in (scale, zero))
    if s.dtype != np.float32 or not are_normal(s):
        return None
    return _joined(s), _joined(z)


def are_normal(scales: np.ndarray) -> bool:
    """True for positive numbers that are neither infinite nor subnormal."""
    return bool((np.isfinite(scales) & (scales >= np.finfo(np.float32).tiny)).all())


def _joined(values: np.ndarray) -> np.ndarray:
    """One number where all are equal."""
    flat = values.reshape(-1)
    return flat[0].reshape(()) if flat.size and (flat == flat[0]).all() else flat
