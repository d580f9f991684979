"""Elementwise operators of one tensor that have attributes, or are activations: shape and dtype stay as they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import te
from ..deferred import np
from ..ir import TensorType, Type
from .base import Operator, Pattern, RelationError, Reporter, operator
from .conversion import number_as
from .dtypes import bits, is_float
from .extremes import larger, larger_expression, limited, limited_expression
from .relations import identity
from .shapes import require_integers


class _Elementwise(Operator):
    """Base: the type rule, and a compute that asks `element` for each element."""

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The argument and the result have one type; whichever is known gives the other its own."""
        return identity(types, reporter)

    def element(self, x: Any) -> Any:
        """The te expression for one element."""
        raise NotImplementedError

    def compute(self, inputs: Sequence[Any], out_type: Type) -> Any:
        (x,) = inputs
        return te.compute(x.shape, lambda *i: self.element(x[i]), name=f"T_{self.name.split('.')[-1]}", tag="elemwise")


@operator("nn.relu", "data", pattern=Pattern.ELEMWISE, level=1)
@dataclass(frozen=True)
class Relu(_Elementwise):
    """The larger of each element and 0 (of a NaN: NaN)."""

    precision = "follow"
    homogeneous = True

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        return larger(x, x.dtype.type(0))

    def element(self, x: Any) -> Any:
        return larger_expression(x, te.const(0, x.dtype))


@operator("nn.leaky_relu", "data", pattern=Pattern.ELEMWISE, attrs="LeakyReluAttrs", level=3)
@dataclass(frozen=True)
class LeakyRelu(_Elementwise):
    """The element where it is positive, `alpha` times the element elsewhere."""

    precision = "follow"
    homogeneous = True

    alpha: float = 0.25

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The type of the argument; no integer is infinite or NaN."""
        result = super().relate(types, reporter)
        if isinstance(result, TensorType) and not is_float(result.dtype) and not math.isfinite(self.alpha):
            raise RelationError(f"alpha is {self.alpha}, and no {result.dtype} is")
        return result

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        return np.where(x > 0, x, x * number_as(self.alpha, x.dtype))

    def element(self, x: Any) -> Any:
        return te.select(x > te.const(0, x.dtype), x, x * te.const(self.alpha, x.dtype))


@operator("hardswish", variadic=True)  # as TVM declares it
@dataclass(frozen=True)
class Hardswish(_Elementwise):
    """`x * min(max(x + 3, 0), 6) / 6` of each element."""

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The type of the argument, which holds floats."""
        if len(types) != 1:
            raise RelationError(f"1 argument is needed, {len(types)} are given")
        result = super().relate(types, reporter)
        if isinstance(result, TensorType) and not is_float(result.dtype):
            raise RelationError(f"floats are needed, not {result.dtype}")
        return result

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        t = x.dtype.type
        return np.asarray(x * (np.clip(x + t(3), t(0), t(6)) / t(6))).astype(x.dtype, copy=False)

    def element(self, x: Any) -> Any:
        zero, three, six = (te.const(v, x.dtype) for v in (0, 3, 6))
        return x * (limited_expression(x + three, zero, six) / six)


@operator("clip", "data", pattern=Pattern.ELEMWISE, attrs="ClipAttrs", level=3)
@dataclass(frozen=True)
class Clip(_Elementwise):
    """Each element limited to `a_min` … `a_max`; if `a_min` exceeds `a_max`, the result is `a_min`.

    The bounds are cut to whole numbers for integers, and to the range of the dtype. NaN stays NaN, and so it is where a
    bound is NaN.
    """

    precision = "follow"

    a_min: float
    a_max: float

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The type of the argument; no integer is at least or at most NaN."""
        result = super().relate(types, reporter)
        if isinstance(result, TensorType) and not is_float(result.dtype):
            for name, bound in (("a_min", self.a_min), ("a_max", self.a_max)):
                if math.isnan(bound):
                    raise RelationError(f"{name} is NaN, and no {result.dtype} is")
        return result

    def bounds(self, dtype: str) -> tuple[float | int, float | int]:
        """Both bounds as values of the dtype."""
        if is_float(dtype):
            return self.a_min, self.a_max
        width = bits(dtype)
        low, high = (-(2 ** (width - 1)), 2 ** (width - 1) - 1) if dtype.startswith("int") else (0, 2**width - 1)
        return int(min(max(self.a_min, low), high)), int(min(max(self.a_max, low), high))

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        low, high = (number_as(b, x.dtype) for b in self.bounds(x.dtype.name))
        return limited(x, low, high)

    def element(self, x: Any) -> Any:
        low, high = (te.const(b, x.dtype) for b in self.bounds(x.dtype))
        return limited_expression(x, low, high)


FAR_SHIFT = 1200
"""A shift to the right by as much leaves nothing of any number; the least positive double is 2^-1074."""

MOST_RIGHT = 62
"""A right shift by more leaves nothing of a product of 63 bits but its sign, which rounding takes away."""


@operator("fixed_point_multiply", "data", pattern=Pattern.ELEMWISE, attrs="FixedPointMultiplyAttrs")
@dataclass(frozen=True)
class FixedPointMultiply(_Elementwise):
    """The element times `multiplier / 2**31 * 2**shift`, in integers, halves rounded up.

    The product is formed in 64 bits. A multiplier of 2**30 stands for one half, and then only shifts are made, in the
    element's own width.
    """

    differentiable = False

    multiplier: int
    shift: int

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The type of the argument, which holds integers; they are shifted by less than their product has bits."""
        result = super().relate(types, reporter)
        if isinstance(result, TensorType):
            require_integers(result)
        if not -FAR_SHIFT < self.shift < 64:
            raise RelationError(f"shift is {self.shift}; it must be more than -{FAR_SHIFT} and less than 64")
        if not -(2**31) <= self.multiplier < 2**31:
            raise RelationError(f"multiplier is {self.multiplier}, which is no number of 32 bits")
        return result

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        if self.multiplier == 1 << 30:
            by = max(int(self.shift) - 1, -65)
            if by >= 0:
                return x << number_as(by, x.dtype)
            return (x + number_as(1 << (-by - 1), x.dtype)) >> number_as(-by, x.dtype)
        left, right = max(int(self.shift), 0), max(-int(self.shift), 0) + 31
        if right > MOST_RIGHT:
            return np.zeros_like(x)
        product = (x.astype("int64") << left) * int(self.multiplier)
        return ((product + (1 << (right - 1))) >> right).astype(x.dtype)

    def element(self, x: Any) -> Any:
        if self.multiplier == 1 << 30:
            by = max(int(self.shift) - 1, -65)
            if by >= 0:
                return x << te.const(by, x.dtype)
            return (x + te.const(1 << (-by - 1), x.dtype)) >> te.const(-by, x.dtype)
        left, right = max(int(self.shift), 0), max(-int(self.shift), 0) + 31
        if right > MOST_RIGHT:
            return te.const(0, x.dtype)
        wide = te.cast(x, "int64")
        if left:
            wide = wide << te.const(left, "int64")
        product = wide * te.const(int(self.multiplier), "int64") + te.const(1 << (right - 1), "int64")
        return te.cast(product >> te.const(right, "int64"), x.dtype)
