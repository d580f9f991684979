"""Operators that take a tensor to the shape of another by repeating it, and back by summing.

`broadcast_to` and `broadcast_to_like` repeat as elementwise operators do; `collapse_sum_to` and `collapse_sum_like` are
their gradients: every element of the result is the sum of those that broadcasting made from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import te
from ..deferred import np
from ..ir import TensorType, Type
from ..ir.dims import ANY, Dim, is_number
from .base import VOID, DType, Operator, Pattern, RelationError, Reporter, operator
from .binary import pick
from .long_sums import long_sum
from .partial import meet
from .relations import broadcast_shape, require_dtype, show_shape
from .shapes import require_few_axes, tensor


def _relate_broadcast(small: TensorType, large: TensorType, reporter: Reporter) -> None:
    """RelationError unless broadcasting `small` with `large` gives the shape of `large`."""
    require_dtype(small, large)
    reporter.unify(TensorType(broadcast_shape(small.shape, large.shape), large.dtype), large)


def broadcast_elements(x: Any, shape: Sequence[int]) -> Any:
    """The te tensor that repeats `x` to `shape`."""
    return te.compute(tuple(shape), lambda *i: pick(x, i), name="T_broadcast_to", tag="broadcast")


def collapsed_axes(shape: Sequence[int], target: Sequence[int]) -> tuple[int, ...]:
    """The axes of `shape`, aligned with `target` from the back, that are summed: missing in the target, or 1 there."""
    ahead = len(shape) - len(target)
    return tuple(a for a, d in enumerate(shape) if a < ahead or (target[a - ahead] == 1 and d != 1))


def collapse(x: np.ndarray, target: Sequence[int]) -> np.ndarray:
    """`x` summed to the shape `target`; 16-bit floats are summed in float32."""
    if len(target) > x.ndim or any(n not in (1, d) for d, n in zip(x.shape[::-1], target[::-1], strict=False)):
        raise RelationError(f"a tensor of shape {show_shape(x.shape)} does not collapse to {show_shape(target)}")
    axes = collapsed_axes(x.shape, target)
    return (long_sum(x, axes).astype(x.dtype) if axes else x).reshape(tuple(target))


def collapse_elements(x: Any, target: Sequence[int]) -> Any:
    """The te tensor that sums `x` to the shape `target`."""
    axes = collapsed_axes(x.shape, target)
    over = {a: te.reduce_axis(x.shape[a], name=f"k{a}") for a in axes}
    ahead = len(x.shape) - len(target)

    def element(*i: Any) -> Any:
        own = [over[a] if a in over else i[a - ahead] for a in range(len(x.shape))]
        return te.sum(x[tuple(own)], axis=list(over.values()))

    return te.compute(tuple(target), element, name="T_collapse_sum", tag="comm_reduce")


@operator("broadcast_to", "data", pattern=Pattern.BROADCAST, attrs="InitOpAttrs", level=4, declares_attrs=False)
@dataclass(frozen=True)
class BroadcastTo(Operator):
    """The tensor repeated to `shape`; `dtype` is ignored."""

    narrowed_attribute = "dtype"

    shape: tuple[int, ...] | None
    dtype: DType = VOID

    shape_from_data = True

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype and the shape of the attributes, to which the data's must broadcast."""
        x = tensor(types[0])
        if x is None:
            return None
        if self.shape is None:
            raise RelationError("the attribute shape is missing")
        out = TensorType(self.shape, x.dtype)
        _relate_broadcast(x, out, reporter)
        return out

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        return list(args), out if self.shape is None else meet(out, self.shape)

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        return np.broadcast_to(x, self.shape or ())

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        return broadcast_elements(inputs[0], out_type.shape)


@operator("broadcast_to_like", "data", "broadcast_type", pattern=Pattern.BROADCAST)
@dataclass(frozen=True)
class BroadcastToLike(Operator):
    """`data` repeated to the shape of `broadcast_type`."""

    precision = "follow"

    one_dtype = ("data", "broadcast_type", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The type of the second argument, to which the data must broadcast."""
        like = reporter.unify(types[1], reporter.out)
        x, out = tensor(types[0], "data"), tensor(like, "broadcast_type")
        if x is None or out is None:
            return None
        _relate_broadcast(x, out, reporter)
        return out

    def evaluate(self, x: np.ndarray, like: np.ndarray) -> np.ndarray:
        return np.broadcast_to(x, like.shape)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        return broadcast_elements(inputs[0], out_type.shape)


@operator("collapse_sum_like", "data", "collapse_type", pattern=Pattern.COMM_REDUCE)
@dataclass(frozen=True)
class CollapseSumLike(Operator):
    """`data` summed to the shape of `collapse_type`, which broadcasts to that of `data`."""

    one_dtype = ("data", "collapse_type", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The type of the second argument, whose shape must broadcast to the data's."""
        like = reporter.unify(types[1], reporter.out)
        x, out = tensor(types[0], "data"), tensor(like, "collapse_type")
        if x is None or out is None:
            return None
        _relate_broadcast(out, x, reporter)
        return out

    def evaluate(self, x: np.ndarray, like: np.ndarray) -> np.ndarray:
        return collapse(x, like.shape)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        return collapse_elements(inputs[0], out_type.shape)


@operator(
    "collapse_sum_to", "data", "shape", pattern=Pattern.COMM_REDUCE, attrs="InitOpAttrs", level=4, declares_attrs=False
)
@dataclass(frozen=True)
class CollapseSumTo(Operator):
    """`data` summed to the shape in the argument `shape`; the attribute repeats the shape if it is known."""

    narrowed_attribute = "dtype"

    shape: tuple[int, ...] | None = None
    dtype: DType = VOID

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; the attribute's shape, which must broadcast to the data's, or as many `?` as the vector is long."""
        x, target = tensor(types[0], "data"), tensor(types[1], "shape")
        if x is None or target is None:
            return None
        if len(target.shape) != 1 or not is_number(target.shape[0]):
            raise RelationError(f"shape must be a vector of known length, not {target}")
        require_few_axes(target.shape[0], "the length of shape")
        target_shape: tuple[Dim, ...] = self.shape if self.shape is not None else (ANY,) * int(target.shape[0])
        out = TensorType(target_shape, x.dtype)
        _relate_broadcast(out, x, reporter)
        return out

    def evaluate(self, x: np.ndarray, shape: np.ndarray) -> np.ndarray:
        return collapse(x, self.shape if self.shape is not None else tuple(int(d) for d in shape))

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        return collapse_elements(inputs[0], out_type.shape)
