"""Sorting and searching along one axis. All sorts are stable: equal elements keep their order, ascending or descending.

NaN counts as the largest element, as for numpy: last in ascending order, first in descending.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .. import te
from ..deferred import np
from ..ir import TensorType, TupleType, Type
from ..symbolic_int import bound
from ..tir import dtypes
from ..tir.stmt import PARALLEL
from .base import VOID, DType, Operator, Pattern, RelationError, Reporter, operator
from .dtypes import is_float, numpy_dtype
from .radix import Radix, Ranks, ranks_of
from .rows import rows
from .search import count_leading
from .shapes import compatible, normalize_axis, require_rank, tensor
from .typical import Sorted

_INT32 = DType("int32")
_SHORT = 24
"""Elements for each byte of a rank, below which a row is sorted by merging."""


def comparable(x: np.ndarray) -> np.ndarray:
    """The same numbers in a dtype that numpy sorts with NaN last: float32 for bfloat16, whose package leaves NaN anywhere."""
    return x if x.dtype.kind in "biuf" else x.astype(np.float32)


def order(x: np.ndarray, axis: int, ascending: bool) -> np.ndarray:
    """Positions that sort `x` along `axis`, stably in either direction."""
    x = comparable(x)
    if ascending:
        return np.argsort(x, axis=axis, kind="stable")
    back = np.flip(x, axis)
    return np.flip(x.shape[axis] - 1 - np.argsort(back, axis=axis, kind="stable"), axis)


def sort_operands(x: Any, axis: int, ascending: bool) -> list[Any]:
    """The operands of `sort_elements`: elements, and in a row that is not short their ranks."""
    if x.dtype == "bool" or bound(x.shape[axis]) < _SHORT * Ranks(x.dtype, ascending).digits:
        return [x]
    return [x, ranks_of(x, ascending)]


def sort_elements(ib: Any, ins: Sequence[Any], values: Any, positions: Any, axis: int, ascending: bool, k: int) -> None:
    """Writes loops that put the first `k` elements of each sorted row in `values` and their positions in `positions`.

    Either may be None. Positions are sorted stably, with two vectors of workspace: those of a short row by merging, others by the
    bytes of ranks.
    """
    source, *line = ins
    extent = source.shape[axis]
    sorted_, merged = (ib.allocate((extent,), "int32", name=n) for n in ("sorted", "merged"))
    radix = Radix(ib, Ranks(source.dtype, ascending)) if line else None
    with rows(ib, source.shape, axis) as row:

        def before(a: Any, b: Any) -> Any:
            return precedes(source[row(a)], source[row(b)], ascending)

        if radix is not None:
            with ib.for_(extent) as i:
                ib.store(sorted_, (i,), i)
            in_order = radix.sort(sorted_, merged, lambda i: line[0][row(i)], extent)
        else:
            in_order = merge_sort(ib, extent, sorted_, merged, before)
        with ib.for_(k) as i:
            if values is not None:
                ib.store(values, row(i), source[row(in_order[i])])
            if positions is not None:
                ib.store(positions, row(i), te.cast(in_order[i], positions.dtype))


def precedes(x: Any, y: Any, ascending: bool) -> Any:
    """True if element `x` comes before `y` in a sorted row; NaN counts as the largest."""
    if not dtypes.is_float(x.dtype):
        return x < y if ascending else x > y
    # One comparison decides, unless there is a NaN or `x` does come first.
    low, no_later = (x, y <= x) if ascending else (y, x <= y)
    return te.all(te.logical_not(no_later), te.equal(low, low))


def same(x: Any, y: Any) -> Any:
    """True if two elements count as one: equal, or both NaN."""
    if not dtypes.is_float(x.dtype):
        return te.equal(x, y)
    return te.any(te.equal(x, y), te.all(te.not_equal(x, x), te.not_equal(y, y)))


def outranks(a: Any, b: Any) -> Any:
    """True if score `a` stands before `b`, the highest first; NaN is below every number, as in numpy's order of `-x`."""
    return te.any(a > b, te.all(a.equal(a), b != b))


def merge_sort(ib: Any, extent: int, source: Any, target: Any, before: Any) -> Any:
    """Writes loops that sort the positions 0 … extent - 1 by `before(a, b)`; gives the one of both vectors that has them."""
    with ib.for_(extent) as i:
        ib.store(source, (i,), i)
    width = 1
    while width < bound(extent):
        with ib.for_(-(-extent // (2 * width))) as block:
            start = ib.let(block * (2 * width))
            middle = ib.let(te.minimum(start + width, extent))
            end = ib.let(te.minimum(start + 2 * width, extent))
            left, right = ib.local("int32", start), ib.local("int32", middle)
            with ib.for_(start, end) as k:
                in_both = te.if_then_else(
                    right.get() < end,
                    te.logical_not(before(source[right.get()], source[left.get()])),
                    te.const(True, "bool"),
                )
                from_left = ib.let(te.if_then_else(left.get() < middle, in_both, te.const(False, "bool")))
                with ib.if_(from_left):
                    ib.store(target, (k,), source[left.get()])
                    left.set(left.get() + 1)
                with ib.else_():
                    ib.store(target, (k,), source[right.get()])
                    right.set(right.get() + 1)
        source, target = target, source
        width *= 2
    return source


@operator("sort", "data", pattern=Pattern.OPAQUE, attrs="ArgsortAttrs", level=6)
@dataclass(frozen=True)
class Sort(Operator):
    """The elements in order along `axis`; `dtype` is ignored."""

    axis: int = -1
    is_ascend: bool = True
    dtype: DType = VOID

    one_shape = ("data", "result")
    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The type of the data, which has the axis."""
        x = tensor(types[0])
        if x is not None:
            normalize_axis(self.axis, len(x.shape))
        return x

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        axis = normalize_axis(self.axis, x.ndim)
        return np.take_along_axis(x, order(x, axis, self.is_ascend), axis)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (x,) = inputs
        axis = normalize_axis(self.axis, x.ndim)

        def fill(ib: Any, ins: Sequence[Any], outs: Sequence[Any]) -> None:
            sort_elements(ib, ins, outs[0], None, axis, self.is_ascend, x.shape[axis])

        taken = sort_operands(x, axis, self.is_ascend)
        return te.extern(x.shape, taken, fill, dtype=x.dtype, name="sort")


@operator("argsort", "data", pattern=Pattern.OPAQUE, attrs="ArgsortAttrs", level=6)
@dataclass(frozen=True)
class Argsort(Operator):
    """The positions along `axis` of the elements in order."""

    differentiable = False

    axis: int = -1
    is_ascend: bool = True
    dtype: DType = VOID

    dtype_attribute = "dtype"
    one_shape = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's shape, which has the axis, with `dtype`."""
        x = tensor(types[0])
        if x is None:
            return None
        normalize_axis(self.axis, len(x.shape))
        return TensorType(x.shape, self.dtype)

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        return order(x, normalize_axis(self.axis, x.ndim), self.is_ascend).astype(numpy_dtype(self.dtype))

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (x,) = inputs
        axis = normalize_axis(self.axis, x.ndim)

        def fill(ib: Any, ins: Sequence[Any], outs: Sequence[Any]) -> None:
            sort_elements(ib, ins, None, outs[0], axis, self.is_ascend, x.shape[axis])

        taken = sort_operands(x, axis, self.is_ascend)
        return te.extern(x.shape, taken, fill, dtype=out_type.dtype, name="argsort")


@operator("searchsorted", "sorted_sequence", "values", pattern=Pattern.OPAQUE, attrs="SearchSortedAttrs", level=6)
@dataclass(frozen=True)
class Searchsorted(Operator):
    """Insertion position of each value in a sorted row: before equal elements, or after them with `right`.

    The sequence is a vector for all values, or has a row for each row of the values.
    """

    differentiable = False

    right: bool = False
    dtype: DType = _INT32

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The shape of the values with `dtype`; a sequence of rows has the leading axes of the values."""
        rows, values = tensor(types[0], "sorted_sequence"), tensor(types[1], "values")
        if rows is None or values is None:
            return None
        if not values.shape or not rows.shape:
            raise RelationError("neither sorted_sequence nor values may be a scalar")
        if len(rows.shape) > 1:
            require_rank(values, len(rows.shape), "values")
            for axis, (a, b) in enumerate(zip(rows.shape[:-1], values.shape[:-1], strict=True)):
                if not compatible(a, b):
                    raise RelationError(f"axis {axis} is {a} in the sequence and {b} in the values")
        return TensorType(values.shape, self.dtype)

    def typical(self, types: Sequence[Type | None], out: Type | None, hint: Any) -> Sequence[Any]:
        return [Sorted(), None]

    def evaluate(self, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        side: Literal["left", "right"] = "right" if self.right else "left"
        rows, values = comparable(rows), comparable(values)
        if rows.ndim == 1:
            positions = np.searchsorted(rows, values, side)
        else:
            positions = np.empty(values.shape, "int64")
            for row in np.ndindex(values.shape[:-1]):
                positions[row] = np.searchsorted(rows[row], values[row], side)
        return positions.astype(numpy_dtype(self.dtype))

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        """A binary search for each value."""
        ordered, values = inputs
        extent = ordered.shape[-1]

        def is_before(k: Any, i: Sequence[Any], ordered: Any, values: Any) -> Any:
            row_value = ordered[k] if len(ordered.shape) == 1 else ordered[(*i[:-1], k)]
            before = row_value <= values[i] if self.right else row_value < values[i]
            if not is_float(ordered.dtype):
                return before
            last = te.not_equal(values[i], values[i])  # NaN counts as the largest
            return te.any(before, last if self.right else te.all(last, row_value.equal(row_value)))

        def fill(ib: Any, ins: Sequence[Any], outs: Sequence[Any]) -> None:
            with rows(ib, values.shape, values.ndim - 1, PARALLEL) as row, ib.for_(values.shape[-1]) as n:
                place = count_leading(ib, extent, lambda k: is_before(k, row(n), *ins))
                ib.store(outs[0], row(n), te.cast(place, out_type.dtype))

        return te.extern(values.shape, inputs, fill, dtype=out_type.dtype, name="searchsorted")


@operator("unique", "data", pattern=Pattern.OPAQUE, attrs="UniqueAttrs", level=3, declares_attrs=False)
@dataclass(frozen=True)
class Unique(Operator):
    """The distinct elements of a vector: (elements, first position of each, for each input its element, number of elements).

    With `return_counts` a fifth result says how often each occurs. All but the fourth have the length of the input; what
    is beyond the number of distinct elements is 0, but the length of the input in the second. The elements are in
    ascending order, or in the order of first occurrence without `sorted`.
    """

    differentiable = False

    sorted: bool = True
    return_counts: bool = False

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """A tuple: a vector of the data's type, two int32 vectors of that length, int32 `(1)`, and with `return_counts`
        an int32 vector.
        """
        x = tensor(types[0])
        if x is None:
            return None
        require_rank(x, 1, "data")
        vector = TensorType(x.shape, "int32")
        counts = (vector,) if self.return_counts else ()
        return TupleType((x, vector, vector, TensorType((1,), "int32"), *counts))

    def evaluate(self, x: np.ndarray) -> Any:
        distinct, first, inverse, counts = np.unique(
            comparable(x), return_index=True, return_inverse=True, return_counts=True
        )
        if not self.sorted:
            by_first = np.argsort(first, kind="stable")
            distinct, first, counts = distinct[by_first], first[by_first], counts[by_first]
            inverse = np.argsort(by_first)[inverse]
        n, total = len(x), len(distinct)

        def padded(values: np.ndarray, dtype: Any, beyond: int) -> np.ndarray:
            result = np.full(n, beyond, dtype)
            result[:total] = values
            return result

        results = (
            padded(distinct, x.dtype, 0),
            padded(first, "int32", n),
            inverse.reshape(-1).astype("int32"),
            np.array([total], "int32"),
        )
        return (*results, padded(counts, "int32", 0)) if self.return_counts else results

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (x,) = inputs
        n = x.shape[0]

        def fill(ib: Any, ins: Sequence[Any], outs: Sequence[Any]) -> None:
            source, (elements, first, inverse, number) = ins[0], outs[:4]
            counts = outs[4] if self.return_counts else None
            original = ib.allocate((n,), "int32", name="first_equal")
            total = ib.local("int32", 0)
            with ib.for_(n) as i:
                ib.store(elements, (i,), te.const(0, x.dtype))
                ib.store(first, (i,), te.const(n, "int32"))
                if counts is not None:
                    ib.store(counts, (i,), te.const(0, "int32"))
                equal = ib.local("int32", 0)
                with ib.while_(te.all(equal.get() < i, te.logical_not(same(source[equal.get()], source[i])))):
                    equal.set(equal.get() + 1)
                ib.store(original, (i,), equal.get())
                total.set(total.get() + te.cast(equal.get() == i, "int32"))
            ib.store(number, (0,), total.get())
            with ib.for_(n) as i:
                place = ib.local("int32", 0)
                with ib.for_(n) as j:
                    earlier = precedes(source[j], source[i], True) if self.sorted else j < original[i]
                    place.set(place.get() + te.cast(te.all(original[j] == j, earlier), "int32"))
                ib.store(inverse, (i,), place.get())
                if counts is not None:
                    ib.store(counts, (place.get(),), counts[place.get()] + 1)
                with ib.if_(original[i] == i):
                    ib.store(elements, (place.get(),), source[i])
                    ib.store(first, (place.get(),), i)

        shapes = [(n,)] * 3 + [(1,)] + [(n,)] * self.return_counts
        return te.extern(shapes, [x], fill, dtype=[x.dtype] + ["int32"] * (len(shapes) - 1), name="unique")
