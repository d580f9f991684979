"""Elements that indices name."""

from __future__ import annotations

from ....deferred import np
from ....diagnostics import IrError
from ....ir.dims import Dim, is_number
from ....symbolic_int import signs
from ..arithmetic import cast
from ..length_values import extent_of_axis
from ..memory_limit import filled
from ..mistakes import DamagedModel, UnknownExtent
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..value import Value, apply
from .choice import constant_number
from .distinct_slices import distinct_slices, head


@onnx_operator("Gather")
class Gather(OnnxOperator):
    """The slices along an axis that the indices name; those below 0 count from the end."""

    @since(1, 11, 13)
    def slices(self, x: Value, indices: Value, *, axis: int = 0) -> Result:
        return gathered(x, indices, x.axis(axis))


def gathered(x: Value, indices: Value, axis: int) -> Value:
    """The slices along an axis, counted from the front, that the indices name; those below 0 count from the end."""
    if indices.known is None or indices.parameter or not isinstance(x.shape[axis], int):
        return x.call("take", indices, axis=axis, mode="wrap")
    return x.call("take", from_front(indices, x, axis), axis=axis)


def from_front(indices: Value, x: Value, axis: int) -> Value:
    """Indices along an axis of `x`, where those below 0 count from the end, as indices of which none is below 0.

    Raises IrError for known ones that are out of range.
    """
    extent = x.shape[axis]
    if not isinstance(extent, int):
        return _counted(indices, extent_of_axis(x, axis, indices.dtype))
    if indices.known is None or indices.parameter:
        return _counted(indices, extent_of_axis(x, axis, indices.dtype))
    known = indices.known
    if not is_number(extent):
        return _from_front_of_length(indices, x, axis, extent)
    if known.size and not (-extent <= int(known.min()) and int(known.max()) < extent):
        what = f"axis {axis} of {x.tensor} is indexed from {known.min()} to {known.max()}"
        raise IrError(f"{what}: an index is out of range", code=DamagedModel)
    if not known.size or known.min() >= 0:
        return indices
    return Value.constant(np.where(known < 0, known + extent, known), indices.dtype)


def _from_front_of_length(indices: Value, x: Value, axis: int, extent: int) -> Value:
    """Known indices along an axis of a length. Raises IrError if one is out of range for some lengths."""
    known = indices.array("the indices")
    lowest, highest = (int(known.min()), int(known.max())) if known.size else (0, 0)
    if not (signs(extent - highest) == {1} and signs(extent + lowest) <= {0, 1}):
        what = f"axis {axis} of {x.tensor} is indexed from {lowest} to {highest}"
        raise IrError(
            f"{what}: an index is out of range for some lengths",
            help=f"bound the length below: it is at least {max(highest + 1, -lowest)}",
            code=UnknownExtent,
        )
    return indices if lowest >= 0 else _counted(indices, extent_of_axis(x, axis, indices.dtype))


def _counted(indices: Value, extent: Value) -> Value:
    below = indices.call("less", Value.constant(0, indices.dtype))
    return apply("where", below, indices.call("add", extent), indices)


@onnx_operator("GatherElements")
class GatherElements(OnnxOperator):
    """For each index the element at its place, with the index in place of the one along the axis.

    Along the other axes there may be fewer indices than elements, as torch.gather has it.
    """

    @since(11, 13)
    def elements(self, x: Value, indices: Value, *, axis: int = 0) -> Result:
        positive_axis = x.axis(axis)
        if 0 in indices.shape:
            shape = indices.extents("the indices")
            return Value.constant(filled(shape, 0, "the result", "uint8"), x.dtype)
        indices = from_front(indices, x, positive_axis)
        if x.rank != indices.rank:
            raise IrError(f"indices {indices.tensor} have not as many axes as {x.tensor}", code=DamagedModel)
        shorter = [i for i in range(x.rank) if i != positive_axis and _is_shorter(indices.shape[i], x.shape[i])]
        if shorter:
            ends = [indices.shape[i] for i in shorter]
            ones = [1] * len(shorter)
            x = x.call("strided_slice", begin=[0] * len(shorter), end=ends, strides=ones, axes=shorter)
        return x.call("gather", indices, axis=positive_axis)


def _is_shorter(extent: Dim, whole: Dim) -> bool:
    return isinstance(extent, int) and not (isinstance(whole, int) and extent >= whole)


def index_tuples(indices: Value, x: Value, batch_dims: int = 0) -> Value:
    """Index tuples, along the last axis as in ONNX, along the first one; none is below 0."""
    indices.require_rank(1, "the indices", or_more=True)
    count = indices.shape[-1]
    if not isinstance(count, int):
        raise IrError(f"the indices have the type {indices.tensor}: the length of an index must be known")
    if batch_dims + count > x.rank:
        raise IrError(f"an index of {count} numbers is too long for {x.tensor}", code=DamagedModel)
    indexed = x.shape[batch_dims : batch_dims + count]
    if indices.known is None or indices.parameter or (indices.known.size and int(indices.known.min()) < 0):
        if all(map(is_number, indexed)):
            length = Value.constant(np.array(indexed), indices.dtype)
        else:
            slices = {"begin": [batch_dims], "end": [batch_dims + count], "strides": [1], "axes": [0]}
            length = cast(x.call("shape_of", dtype="int64").call("strided_slice", **slices), indices.dtype)
        indices = _counted(indices, length)
    return indices.call("transpose", axes=[indices.rank - 1, *range(indices.rank - 1)]) if indices.rank > 1 else indices


@onnx_operator("GatherND")
class GatherND(OnnxOperator):
    """The slices that tuples of indices name; the first `batch_dims` axes of both belong together."""

    @since(11, 12, 13, added={"batch_dims": 12})
    def batched(self, x: Value, indices: Value, *, batch_dims: int = 0) -> Result:
        return x.call("gather_nd", index_tuples(indices, x, batch_dims), batch_dims=batch_dims)


@onnx_operator("Compress")
class Compress(OnnxOperator):
    """The slices along an axis, or the elements, whose condition holds."""

    @since(9, 11, 28)
    def chosen(self, x: Value, condition: Value, *, axis: int | None = None) -> Result:
        positive_axis = 0 if axis is None else x.axis(axis)
        x = x.call("reshape", newshape=[-1]) if axis is None else x
        if condition.known is not None and not condition.parameter:
            return x.call("take", Value.constant(np.flatnonzero(condition.known)), axis=positive_axis)
        return x.call("take", condition.call("argwhere").call("squeeze", axis=[1]), axis=positive_axis)


@onnx_operator("NonZero")
class NonZero(OnnxOperator):
    """The indices of the elements that are not zero, a column each."""

    @since(9, 13)
    def places(self, x: Value) -> Result:
        if x.known is not None and not x.parameter:
            known = np.atleast_1d(x.known) << 1 if x.dtype == "bfloat16" else np.atleast_1d(x.known)
            return Value.constant(np.array(np.nonzero(known), "int64").reshape(known.ndim, -1))
        x = x if x.rank else x.call("reshape", newshape=[1])
        return cast(x.call("argwhere").call("transpose", axes=[1, 0]), "int64")


@onnx_operator("OneHot")
class OneHot(OnnxOperator):
    """A new axis, with one value where the index says and another one elsewhere; indices below 0 count from the end."""

    @since(9, 11, 28)
    def expand_indices(self, indices: Value, depth: Value, values: Value, *, axis: int = -1) -> Result:
        positive_axis = indices.axis(axis, rank=indices.rank + 1)
        indices = indices if indices.dtype in ("int32", "int64") else cast(indices, "int64")
        if values.extents("the values of OneHot", rank=1) != (2,):
            raise IrError(
                f"the values of OneHot are {values.tensor}, not one elsewhere and one at the index", code=DamagedModel
            )
        off, on = (values.call("take", Value.constant(np.int64(i)), axis=0) for i in (0, 1))
        if depth.known is None:
            depth = cast(depth.call("reshape", newshape=[]) if depth.shape else depth, "int64")
            wrapped = _counted(indices, cast(depth, indices.dtype))
            return wrapped.call("dyn.one_hot", on, off, depth, axis=positive_axis, dtype=values.dtype)
        extent = _depth(depth)
        wrapped = _counted(indices, Value.constant(extent, indices.dtype))
        return wrapped.call("one_hot", on, off, depth=extent, axis=positive_axis, dtype=values.dtype)


def _depth(depth: Value) -> int:
    """The depth, which may be any number. Raises IrError unless it is a whole one."""
    number = depth.array("the depth of OneHot")
    if number.size != 1 or not np.isfinite(number).all() or int(number.reshape(())) != number.reshape(()):
        raise IrError(f"the depth of OneHot is {number.tolist()}", code=DamagedModel)
    return int(number.reshape(()))


@onnx_operator("TopK")
class TopK(OnnxOperator):
    """The `k` largest or smallest elements along an axis, and their positions."""

    @since(1)
    def by_attribute(self, x: Value, *, k: int, axis: int = -1) -> Result:
        return self._first(x, Value.constant(np.int64(k)), axis, True)

    @since(10)
    def by_input(self, x: Value, k: Value, *, axis: int = -1) -> Result:
        return self._first(x, k, axis, True)

    @since(11, 24)
    def either_end(self, x: Value, k: Value, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> Result:
        return self._first(x, k, axis, bool(largest))

    def _first(self, x: Value, k: Value, axis: int, largest: bool) -> Result:
        positive_axis = x.axis(axis)
        if k.known is None:
            k = cast(k.call("reshape", newshape=[]) if k.shape else k, "int64")
            return x.call("dyn.topk", k, k=None, axis=positive_axis, is_ascend=not largest, dtype="int64")
        number = k.number("k")
        extent = x.shape[positive_axis]
        if number < 0 or (isinstance(extent, int) and number > extent):
            raise IrError(f"{number} elements are wanted of axis {positive_axis} of {x.tensor}", code=DamagedModel)
        if not number:
            shape = [0 if i == positive_axis else d for i, d in enumerate(x.extents("the data of TopK"))]
            return [Value.constant(filled(shape, 0, "the result", "uint8"), d) for d in (x.dtype, "int64")]
        return x.call("topk", k=number, axis=positive_axis, is_ascend=not largest, dtype="int64")


@onnx_operator("Unique")
class Unique(OnnxOperator):
    """The distinct elements, or slices along an axis: (them, their first places, which one each is, their counts)."""

    @since(11, 28)
    def distinct(self, x: Value, *, axis: int | None = None, sorted: int = 1) -> Result:
        positive_axis = None if axis is None else x.axis(axis)
        if x.known is not None and not x.parameter and x.dtype != "bfloat16":
            return _unique(x, positive_axis, bool(sorted))
        if positive_axis is not None and x.rank != 1:
            return distinct_slices(x, positive_axis, bool(sorted))
        flat = x if x.rank == 1 else x.call("reshape", newshape=[-1])
        distinct_call = flat.call("unique", sorted=bool(sorted), return_counts=True)
        from ....ir import TupleGetItem

        values, first, which, number, counts = (Value.of(TupleGetItem(distinct_call.expr, i)) for i in range(5))
        end = cast(number, "int64")
        values, first, counts = (head(v, end) for v in (values, first, counts))
        return [values, *(cast(v, "int64") for v in (first, which, counts))]


def _unique(x: Value, axis: int | None, ascending: bool) -> Result:
    known = x.array("the data of Unique")
    values, first, which, counts = np.unique(
        known, return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    which = which.ravel()
    if not ascending:
        order = np.argsort(first, kind="stable")
        values = np.take(values, order, axis=0 if axis is None else axis)
        first, counts, which = first[order], counts[order], np.argsort(order, kind="stable")[which]
    return [Value.constant(values), *(Value.constant(v.astype("int64")) for v in (first, which, counts))]


@onnx_operator("Trilu")
class Trilu(OnnxOperator):
    """The upper or lower triangle of matrices, 0 elsewhere."""

    @since(14)
    def triangle(self, x: Value, k: Value | None = None, *, upper: int = 1) -> Result:
        if k is None:
            k = Value.constant(np.int64(0))
        number = constant_number(k)
        if number is not None:
            k = Value.constant(np.array(int(number), "int64"))
        elif k.shape:
            k = k.call("reshape", newshape=[])
        return x.call("trilu", k, upper=bool(upper))
