"""Operators that tell a tensor's shape and size; its elements do not matter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import te
from ..deferred import np
from ..ir import TensorType, Type
from .base import VOID, DType, Operator, Pattern, Reporter, operator
from .dtypes import numpy_dtype
from .shapes import tensor


@operator("shape_of", "data", pattern=Pattern.OPAQUE, attrs="ShapeOfAttrs")
@dataclass(frozen=True)
class ShapeOf(Operator):
    """The shape of a tensor, as a vector; of a scalar, a scalar."""

    differentiable = False

    precision = "follow"
    folds = False

    dtype: DType = VOID

    dtype_attribute = "dtype"

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """A vector of `dtype` as long as the data has axes; a scalar for a scalar."""
        x = tensor(types[0])
        return x and TensorType((len(x.shape),) if x.shape else (), self.dtype)

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        return np.array(x.shape if x.ndim else 0, numpy_dtype(self.dtype))

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (x,) = inputs
        dtype = out_type.dtype

        def element(*i: Any) -> Any:
            result: Any = te.const(0, dtype)
            for axis, extent in enumerate(x.shape):
                result = te.select(i[0] == axis, te.const(extent, dtype), result)
            return result

        return te.compute(out_type.shape, element, name="T_shape", tag="injective")


@operator("ndarray_size", "data", pattern=Pattern.INJECTIVE, attrs="NdarraySizeAttrs")
@dataclass(frozen=True)
class NdarraySize(Operator):
    """The number of elements of a tensor."""

    differentiable = False

    layout_rule = "elementwise"
    folds = False

    dtype: DType = VOID

    dtype_attribute = "dtype"

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """A scalar of `dtype`."""
        return tensor(types[0]) and TensorType((), self.dtype)

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        return np.array(x.size, numpy_dtype(self.dtype))

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        size = math.prod(inputs[0].shape)
        return te.compute((), lambda: te.const(size, out_type.dtype), name="ndarray_size", tag="injective")
