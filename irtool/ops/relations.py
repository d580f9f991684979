"""Type rules that many operators share.

Each has the signature of `Operator.relate`, with the operator's own parameters behind: it returns the type of the
result, None while the arguments do not decide it, and raises RelationError where it refuses.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import FuncType, RefType, TensorType, TupleType, Type
from ..ir.dims import ANY, Dim
from .base import RelationError, Reporter
from .shapes import equal, mul, normalize_axis, tensor


def identity(types: Sequence[Type], reporter: Reporter) -> Type:
    """All arguments and the result are tensors of one type; whichever is known gives the others theirs."""
    for t in types:
        if isinstance(t, TupleType | FuncType | RefType):
            raise RelationError(f"the argument must be a tensor, not {t}")
    return one_type(types, reporter)


def one_type(types: Sequence[Type], reporter: Reporter) -> Type:
    """All arguments and the result have one type, of any kind."""
    known = reporter.unify(types[0], reporter.out)
    for i in range(1, len(types)):
        known = reporter.unify(known, types[i])
    return known


def broadcast_shape(a: Sequence[Dim], b: Sequence[Dim]) -> tuple[Dim, ...]:
    """numpy's broadcasting, axes counted from the back.

    A 1 gives way to the other side, then `?` does (it can only be 1 or the other side's number); other dimensions must
    be surely equal. RelationError names the axis of the result and both values.
    """
    if a is b:
        return tuple(a)
    shape: list[Dim] = list(a[: len(a) - len(b)]) if len(a) > len(b) else list(b[: len(b) - len(a)])
    ahead = len(shape)
    for i, (x, y) in enumerate(zip(a[max(0, len(a) - len(b)) :], b[max(0, len(b) - len(a)) :], strict=True)):
        if isinstance(x, int) and x == 1:
            shape.append(y)
        elif isinstance(y, int) and y == 1:
            shape.append(x)
        elif x is ANY:
            shape.append(y)
        elif y is ANY or equal(x, y):
            shape.append(x)
        else:
            raise RelationError(
                f"the shapes {show_shape(a)} and {show_shape(b)} do not broadcast: axis {ahead + i} is {x} and {y}"
            )
    return tuple(shape)


def show_shape(shape: Sequence[Dim]) -> str:
    """`(1, ?, 3)`, for messages."""
    return f"({', '.join(map(str, shape))})"


def require_dtype(a: TensorType, b: TensorType) -> None:
    """RelationError unless both hold the same dtype."""
    if a.dtype != b.dtype:
        raise RelationError(f"the data types {a.dtype} and {b.dtype} of {a} and {b} differ")


def broadcast(types: Sequence[Type], reporter: Reporter) -> TensorType | None:
    """Two tensors of one dtype, broadcast against each other."""
    a, b = tensor(types[0], "the left side"), tensor(types[1], "the right side")
    if a is None or b is None:
        return None
    require_dtype(a, b)
    return TensorType(broadcast_shape(a.shape, b.shape), a.dtype)


def broadcast_compare(types: Sequence[Type], reporter: Reporter) -> TensorType | None:
    """Two tensors of one dtype, broadcast against each other, giving bool."""
    result = broadcast(types, reporter)
    return result and TensorType(result.shape, "bool")


def compare(types: Sequence[Type], reporter: Reporter) -> TensorType | None:
    """One tensor, giving bool of its shape."""
    x = tensor(types[0])
    return x and TensorType(x.shape, "bool")


def reduce_axes(rank: int, axis: Sequence[int] | None, exclude: bool) -> tuple[int, ...]:
    """The axes that a reduction removes, ascending: `axis`, or all but `axis`; all where `axis` is empty or None."""
    if not axis:
        return tuple(range(rank))
    chosen = sorted(normalize_axis(a, rank, "the reduction axis") for a in axis)
    if exclude:
        return tuple(i for i in range(rank) if i not in chosen)
    return tuple(dict.fromkeys(chosen))


def reduce_shape(
    shape: Sequence[Dim], axis: Sequence[int] | None = None, keepdims: bool = False, exclude: bool = False
) -> tuple[Dim, ...]:
    """The shape that remains after a reduction over `axis` (see `reduce_axes`)."""
    removed = reduce_axes(len(shape), axis, exclude)
    if any(not isinstance(shape[i], int) for i in removed):
        largest: Dim = 1
        for i in removed:
            if not isinstance(shape[i], int):
                break
            largest = mul(largest, shape[i])
        if isinstance(largest, int) and largest >= 2**31 - 1:
            raise RelationError(f"{largest} elements or more are reduced to one, more than an int32 index can count")
    if keepdims:
        return tuple(1 if i in removed else d for i, d in enumerate(shape))
    return tuple(d for i, d in enumerate(shape) if i not in removed)


__all__ = [
    "broadcast",
    "broadcast_compare",
    "broadcast_shape",
    "compare",
    "identity",
    "one_type",
    "reduce_axes",
    "reduce_shape",
    "require_dtype",
    "show_shape",
]
