"""Type rules of scales and zero points, and the base of quantized operators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...ir import Constant, MissingData, TensorType, Type
from ...ir.dims import Dim
from ..base import Operator, RelationError, Reporter
from ..shapes import tensor
from ..typical import NearOne
from .fixed_point import LARGEST_FACTOR

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32")
"""The dtypes of quantized sums: those that saturate from int32."""


class Quantized(Operator):
    """An operator on quantized tensors: rewritten into plain integer operators before code is made for it."""

    noncomputational = True

    def typical(self, types: Sequence[Type | None], out: Type | None, hint: Any) -> Sequence[Any]:
        """Scales are positive."""
        names = self.names_of_arguments(len(types))
        return [NearOne() if "scale" in n else None for n in names]


def known(types: Sequence[Type], indices: Sequence[int]) -> bool:
    """True if all these arguments have a type; RelationError where one is not a tensor."""
    return all(tensor(types[i], f"argument {i}") is not None for i in indices)


def require_dtype(type: TensorType, accepted: Sequence[str], what: str) -> None:
    """RelationError unless the tensor holds one of these dtypes."""
    if type.dtype not in accepted:
        raise RelationError(f"{what} must hold {' or '.join(accepted)}, not {type.dtype}")


def require_out_dtype(dtype: str, accepted: Sequence[str]) -> None:
    """RelationError unless `out_dtype` is one of these."""
    if dtype not in accepted:
        raise RelationError(f"out_dtype must be {' or '.join(accepted)}, not {dtype or 'left out'}")


def require_scales(reporter: Reporter, inputs: Sequence[int], output: int) -> None:
    """RelationError where constants among these scales leave no number to multiply by.

    An input's scale is finite (that of a channel which is never used may be 0), the output's positive, too.
    """
    divisors = _constant(reporter, output)
    if any(not (math.isfinite(d) and d > 0) for d in divisors):
        raise RelationError(f"the output scale must be positive and finite, not {divisors[0]}")
    for index in inputs:
        for scale in _constant(reporter, index):
            if not math.isfinite(scale):
                raise RelationError(f"a scale must be finite, not {scale}")
            if divisors and abs(scale) / divisors[0] >= LARGEST_FACTOR:
                raise RelationError(f"the scales {scale} and {divisors[0]} lie too far apart")


def _constant(reporter: Reporter, index: int) -> list[float]:
    """The elements of an argument that is a constant; none where it is not."""
    argument = reporter.argument(index)
    if not isinstance(argument, Constant) or isinstance(argument.data, MissingData):
        return []
    return [float(v) for v in argument.data.reshape(-1)]


def require_scalar(type: Type, dtype: str, what: str) -> None:
    """RelationError unless the type is a scalar of that dtype."""
    actual = tensor(type, what)
    if actual is not None and (actual.shape or actual.dtype != dtype):
        raise RelationError(f"{what} must be a scalar of {dtype}, not {actual}")


def is_scalar(type: Type, one_element: bool = False) -> bool:
    """True for a tensor of rank 0; with `one_element` also for one whose extents are all 1."""
    actual = tensor(type)
    return actual is not None and (not actual.shape or (one_element and all(d == 1 for d in actual.shape)))


def assign_parameter(types: Sequence[Type], index: int, dtype: str, size: Dim, reporter: Reporter, what: str) -> None:
    """A scale or zero point: a scalar, or a vector that has `size` elements."""
    actual = tensor(types[index], what)
    if actual is None:
        return
    require_dtype(actual, (dtype,), what)
    if actual.shape:
        reporter.assign(index, TensorType((size,), dtype))


def channel_axis(axis: int, rank: int, name: str = "axis", needed: bool = True) -> int:
    """`axis` counted from the front, 0 for a scalar; RelationError if it is out of range and needed."""
    result = (axis + rank if rank else 0) if axis < 0 else axis
    if needed and not 0 <= result < max(rank, 1):
        raise RelationError(f"{name} {axis} is out of range for a tensor of rank {rank}")
    return result
