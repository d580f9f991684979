"""Lanes of float16 vectors on processors with float16 arithmetic: twice those of float32, if the kernel has no wider operands."""

from __future__ import annotations

from collections.abc import Iterable

from ...tir import dtypes
from ...tir.expr import Expr
from ...tir.native_halves import HALF, are_native
from ...tir.vector_target import VectorTarget
from .forms import Reduction


def native_lanes(values: Iterable[Expr], target: VectorTarget) -> int:
    """Lanes of a float16 vector for values that are computed in 16 bits from beginning to end; 0 for other values."""
    return target.lanes(dtypes.itemsize(HALF)) if target.native_halves > 1 and are_native(values) else 0


def accumulator_lanes(r: Reduction, target: VectorTarget) -> int:
    """Lanes of a vector of accumulators: those of float16 for its extremes, unless the lanes are combined at the end (see
    `row_choice`)."""
    return native_lanes((r.update, *(s.value for s in r.stores)), target) or target.lanes_of(r.acc.dtype)
