"""Distinct slices along an axis of a tensor that only the run knows."""

from __future__ import annotations

from ....deferred import np
from ..arithmetic import cast
from ..memory_limit import counted, filled, require_shape
from ..value import Value, apply


def distinct_slices(x: Value, axis: int, ascending: bool) -> list[Value]:
    """The distinct slices along an axis, their first places, which of them each slice is, and how often each one is there.

    Slices are compared in pairs, as words in a dictionary are, so that time and memory grow with the square of their number.
    `ascending` sorts them; else they are in the order in which they come. Raises IrError if the extents are not known or the
    pairs have no room.
    """
    shape = x.extents("the data of Unique")
    count = shape[axis]
    order = [axis, *(k for k in range(x.rank) if k != axis)]
    rows = x.call("transpose", axes=order).call("reshape", newshape=[count, -1])
    width = rows.extents("the slices")[1]
    require_shape([count, count, width], "the pairs of slices")
    which, is_first = _places(rows, count, width, ascending)
    positions = Value.constant(counted(count, "the slices"))
    number = cast(is_first, "int64").call("sum", axis=[0], keepdims=True)
    last = Value.constant(filled(count, count, "the slices", "int64"))
    heads = apply("where", is_first, which, last).call("argsort", axis=0, is_ascend=True, dtype="int64")
    heads = head(heads, number)
    same = apply("equal", which.call("expand_dims", axis=0), positions.call("expand_dims", axis=1))
    counts = head(cast(same, "int64").call("sum", axis=[1]), number)
    return [x.call("take", heads, axis=axis), heads, which, counts]


def head(x: Value, number: Value) -> Value:
    """The first elements along axis 0, as many as a tensor of one int64 says."""
    begin, step = (Value.constant(np.array([n], "int64")) for n in (0, 1))
    return x.call("dyn.strided_slice", begin, number, step, **dict.fromkeys(("begin", "end", "strides", "axes")))


def _places(rows: Value, count: int, width: int, ascending: bool) -> tuple[Value, Value]:
    """Of each slice: its number among the distinct ones, and whether it is the first one that equals it."""
    left, right = rows.call("expand_dims", axis=1), rows.call("expand_dims", axis=0)
    differ = cast(apply("not_equal", left, right), "int64")
    is_same = apply("equal", differ.call("sum", axis=[2]), Value.constant(np.int64(0)))
    positions = Value.constant(counted(count, "the slices"))
    is_self = apply("equal", positions.call("expand_dims", axis=0), positions.call("expand_dims", axis=1))
    is_same = apply("logical_or", is_same, is_self)  # NaN equals itself alone
    none = Value.constant(count, "int64")
    first = apply("where", is_same, positions.call("expand_dims", axis=0), none).call("min", axis=[1])
    is_first = apply("equal", first, positions)
    if ascending:
        # The sign of the first element that differs, in the first column that has one.
        columns = Value.constant(width - counted(width, "a slice"))
        weight = apply("multiply", differ, columns)
        is_head = apply("equal", weight, weight.call("max", axis=[2], keepdims=True))
        below = apply("logical_and", apply("less", right, left), is_head)
        before = apply("logical_and", below.call("any", axis=[2]), is_first.call("expand_dims", axis=0))
    else:
        earlier = apply("less", positions.call("expand_dims", axis=0), first.call("expand_dims", axis=1))
        before = apply("logical_and", earlier, is_first.call("expand_dims", axis=0))
    return cast(before, "int64").call("sum", axis=[1]), is_first
