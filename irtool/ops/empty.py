"""Results without elements: nothing is computed for them, for any operator and attributes.

The interpreter and the compiler ask here before they ask the operator. So neither has to divide by an extent of 0, to cut a
block out of nothing or to find the nearest of no elements, and both accept the same calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import te
from ..diagnostics import IrError
from ..ir import TensorType
from ..tir.dtypes import itemsize
from .base import Operator
from .dtypes import has_arrays, numpy_dtype

ADDRESSES = 2**63
"""Bytes that the extents of a tensor may span, those of 0 left out: beyond, no index reaches."""


def has_no_elements(types: Sequence[TensorType] | None) -> bool:
    """True if these are the types of a result, all shapes are known, and no tensor of it has an element."""
    return bool(types) and all(t.is_static and 0 in t.shape for t in types or ())


def evaluate_nothing(
    operator: type[Operator], types: Sequence[TensorType], is_tuple: bool
) -> Callable[..., Any] | None:
    """A function that gives the result without elements; None for an operator without a reference."""
    if operator.vendor or operator.evaluate is Operator.evaluate or not all(has_arrays(t.dtype) for t in types):
        return None

    def evaluate(*arguments: Any) -> Any:
        import numpy as np

        zeros = []
        for t in types:
            require_extents(t)
            zeros.append(np.zeros(_extents(t), numpy_dtype(t.dtype)))
        return tuple(zeros) if is_tuple else zeros[0]

    return evaluate


def compute_nothing(operator: type[Operator], types: Sequence[TensorType]) -> list[Any] | None:
    """The tensor expressions of a result without elements; None if the operator has none, to say so itself."""
    if operator.vendor or operator.compute is Operator.compute:
        return None
    for t in types:
        require_extents(t)
    return [_zeros(t) for t in types]


def _zeros(t: TensorType) -> Any:
    return te.compute(_extents(t), lambda *i: te.const(0, t.dtype), name="nothing", tag="injective")


def _extents(t: TensorType) -> tuple[int, ...]:
    return tuple([d for d in t.shape if isinstance(d, int)])


def require_extents(t: TensorType) -> None:
    """Raises IrError if the extents of a tensor without elements are beyond addresses."""
    if math.prod([d for d in _extents(t) if d]) * itemsize(t.dtype) >= ADDRESSES:
        raise IrError(f"the extents of {t} multiply to more than can be addressed")
