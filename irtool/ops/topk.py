"""`topk`: the first elements of sorted rows, without sorting all of them.

A few best elements so far are in a heap with the worst of them at its root. Of each block of a row the best element is found first, and
blocks are passed over where that is no better than the root: of a random row, most. More elements are found by their ranks
(`selection`). Few elements are sorted then. One element is an arg-max.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import te
from ..deferred import np
from ..diagnostics import IrError
from ..ir import TensorType, TupleType, Type
from ..ir.dims import is_number
from ..symbolic_int import bound
from ..tir import dtypes
from .base import VOID, DType, Operator, Pattern, RelationError, Reporter, operator
from .dtypes import numpy_dtype
from .rows import rows
from .selection import BLOCKS_BESIDE, ranks_and_bounds, select_by_ranks, size_of_blocks
from .shapes import normalize_axis, tensor
from .sorting import merge_sort, order, precedes, same, sort_elements, sort_operands

_FEW = 16
"""Most elements that are kept in a heap: of more, too many take the place of others."""
_SHARE = 4
"""A row is sorted as a whole unless it has more than so many times the elements that are kept."""


class _Heap:
    """The positions and values of the best elements of a row so far, each node worse than its children.

    Of equal elements the earlier one is better, as in a stable sort.
    """

    def __init__(self, ib: Any, size: int, dtype: str, ascending: bool) -> None:
        self.ib = ib
        self.size = size
        self.ascending = ascending
        self.values = ib.allocate((size,), dtype, name="kept")
        self.positions = ib.allocate((size,), "int32", name="kept_at")

    def before(self, a: Any, b: Any) -> Any:
        """True if node `a` comes before node `b` in the sorted row."""
        return self._before(self.values[a], self.positions[a], self.values[b], self.positions[b])

    def _before(self, x: Any, x_position: Any, y: Any, y_position: Any) -> Any:
        return te.any(precedes(x, y, self.ascending), te.all(x_position < y_position, same(x, y)))

    def takes(self, value: Any, position: Any) -> Any:
        """True if an element is better than the worst of the heap."""
        worst = self.values[0]
        # One comparison decides for most elements.
        is_worse = worst < value if self.ascending else value < worst
        return te.all(te.logical_not(is_worse), self._before(value, position, worst, self.positions[0]))

    def offer(self, source: Any, row: Any, place: Any) -> None:
        """Keeps an element of a row in place of the worst one, if it is better."""
        position = self.ib.let(place)
        value = self.ib.let(source[row(position)])
        with self.ib.if_(self.takes(value, position)):
            self.sift(te.const(0, "int32"), value, position)

    def sift(self, node: Any, value: Any, position: Any) -> None:
        """Puts an element at a node, or below it, so that every node below is better than the one above it."""
        ib = self.ib
        hole, child = ib.local("int32", node), ib.local("int32")
        child.set(hole() * 2 + 1)
        with ib.while_(child() < self.size):
            other = ib.let(te.minimum(child() + 1, self.size - 1))
            with ib.if_(self.before(child(), other)):
                child.set(other)
            is_worse = self._before(value, position, self.values[child()], self.positions[child()])
            with ib.if_(is_worse):
                ib.store(self.values, (hole(),), self.values[child()])
                ib.store(self.positions, (hole(),), self.positions[child()])
                hole.set(child())
                child.set(hole() * 2 + 1)
            with ib.else_():
                child.set(self.size)
        ib.store(self.values, (hole(),), value)
        ib.store(self.positions, (hole(),), position)


def _select(
    ib: Any, source: Any, extremes: Any, values: Any, positions: Any, axis: int, ascending: bool, k: int
) -> None:
    """Writes loops that put the first `k` elements of each sorted row in `values`, and their positions in `positions`.

    Either may be None. `extremes` has the best element of each block of a row behind its first `k` ones. Much less work than
    sorting where few elements are kept; at worst, `log kept` steps for each element.
    """
    extent = source.shape[axis]
    heap = _Heap(ib, k, source.dtype, ascending)
    sorted_, merged = (ib.allocate((k,), "int32", name=n) for n in ("sorted", "merged"))
    with rows(ib, source.shape, axis) as row:
        with ib.for_(k) as i:
            ib.store(heap.values, (i,), source[row(i)])
            ib.store(heap.positions, (i,), i)
        with ib.for_(k // 2) as i:
            node = ib.let(k // 2 - 1 - i)
            value, position = ib.let(heap.values[node]), ib.let(heap.positions[node])
            heap.sift(node, value, position)
        blocks, width = extremes.shape[axis : axis + 2]
        size = size_of_blocks(extent)
        with ib.for_(blocks) as block, ib.for_(width) as lane:
            first = ib.let(block * (size * width) + k + lane)
            place = row(block)
            best = extremes[(*place[:axis], block, lane, *place[axis + 1 :])]
            with ib.if_(heap.takes(best, first)), ib.for_(size) as i:
                heap.offer(source, row, first + i * width)
        done = k + blocks * size * width
        if done < extent:
            with ib.for_(extent - done) as i:
                heap.offer(source, row, i + done)
        in_order = merge_sort(ib, k, sorted_, merged, heap.before)
        with ib.for_(k) as i:
            if values is not None:
                ib.store(values, row(i), heap.values[in_order[i]])
            if positions is not None:
                ib.store(positions, row(i), te.cast(heap.positions[in_order[i]], positions.dtype))


def _extremes(x: Any, axis: int, ascending: bool, count: int) -> Any:
    """The best element of each whole block along an axis, behind the first `count` elements. A NaN is the largest.

    Elements of a block are as far apart as there are blocks side by side, so that their extremes are those of vectors.
    """
    size, width = size_of_blocks(x.shape[axis]), BLOCKS_BESIDE // dtypes.itemsize(x.dtype)
    shape = (*x.shape[:axis], (x.shape[axis] - count) // (size * width), width, *x.shape[axis + 1 :])
    k = te.reduce_axis((0, size), name="k")

    def extreme(*i: Any) -> Any:
        value = x[(*i[:axis], i[axis] * (size * width) + k * width + i[axis + 1] + count, *i[axis + 2 :])]
        if not ascending:
            return te.max(value, axis=k)
        if dtypes.is_float(x.dtype):
            value = te.select(te.equal(value, value), value, te.const(float("inf"), x.dtype))
        return te.min(value, axis=k)

    return te.compute(shape, extreme, name="extremes")


def _best(x: Any, axis: int, shape: Sequence[int], ascending: bool) -> dict[str, Any]:
    """The first element of each sorted row and its position. A NaN is the largest, as in arg-max, but never the smallest."""
    k = te.reduce_axis((0, x.shape[axis]), name="k")
    find = te.argmin if ascending else te.argmax

    def place(*i: Any) -> Any:
        return find((te.cast(k, "int32"), x[(*i[:axis], k, *i[axis + 1 :])]), axis=k)

    positions, values = te.compute(shape, place, name="best")
    return {"values": values, "indices": positions}


@operator("topk", "data", pattern=Pattern.OPAQUE, attrs="TopkAttrs", level=6)
@dataclass(frozen=True)
class Topk(Operator):
    """The `k` largest (or smallest) elements along `axis` in order, their positions, or both; all elements if `k` is less than 1."""

    k: int | None
    axis: int = -1
    ret_type: str = "both"
    is_ascend: bool = False
    dtype: DType = VOID

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's shape with `k` along `axis`: values, indices of `dtype`, or both as a tuple, as `ret_type` says."""
        x = tensor(types[0])
        if x is None:
            return None
        axis = normalize_axis(self.axis, len(x.shape))
        if self.k is None:
            raise RelationError("the attribute k is missing")
        if self.ret_type not in ("both", "values", "indices"):
            raise RelationError(f'ret_type must be "both", "values" or "indices", not "{self.ret_type}"')
        have = x.shape[axis]
        extent = self.k if self.k >= 1 else have
        message = f"k is {self.k}, and axis {axis} has {have} elements"
        if isinstance(extent, int) and is_number(extent):
            reporter.require_elements((have,), (), message, extent)
        elif isinstance(extent, int) and isinstance(have, int) and extent > have:
            raise RelationError(message)
        shape = (*x.shape[:axis], extent, *x.shape[axis + 1 :])
        values, positions = TensorType(shape, x.dtype), TensorType(shape, self.dtype)
        return {"both": TupleType((values, positions)), "values": values, "indices": positions}[self.ret_type]

    def evaluate(self, x: np.ndarray) -> Any:
        axis = normalize_axis(self.axis, x.ndim)
        k = self.k if self.k is not None and self.k >= 1 else x.shape[axis]
        if k > x.shape[axis]:
            raise IrError(f"topk of {k} elements along an axis of extent {x.shape[axis]}")
        positions = np.take(order(x, axis, self.is_ascend), np.arange(k), axis)
        values = np.take_along_axis(x, positions, axis)
        if self.ret_type == "values":
            return values
        indices = positions.astype(numpy_dtype(self.dtype))
        return (values, indices) if self.ret_type == "both" else indices

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (x,) = inputs
        axis = normalize_axis(self.axis, x.ndim)
        k = self.k if self.k is not None and self.k >= 1 else x.shape[axis]
        shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
        names = [w for w in ("values", "indices") if self.ret_type in ("both", w)]
        types = {"values": x.dtype, "indices": self.dtype}
        if (
            k == 1
            and bound(x.shape[axis]) > 1
            and x.dtype != "bool"
            and (not self.is_ascend or not dtypes.is_float(x.dtype))
        ):
            best = _best(x, axis, shape, self.is_ascend)
            return [te.compute(shape, lambda *i, w=w: te.cast(best[w][i], types[w]), name="topk") for w in names]

        few = is_number(x.shape[axis]) and 0 < k * _SHARE < x.shape[axis] and x.dtype != "bool"
        in_heap = few and k <= _FEW
        taken = [x]
        if in_heap:
            taken.append(_extremes(x, axis, self.is_ascend, k))
        elif few:
            taken += ranks_and_bounds(x, axis, self.is_ascend, k)
        else:
            taken = sort_operands(x, axis, self.is_ascend)

        def fill(ib: Any, ins: Sequence[Any], outs: Sequence[Any]) -> None:
            to = dict(zip(names, outs, strict=True))
            written = to.get("values"), to.get("indices")
            if in_heap:
                _select(ib, ins[0], ins[1], *written, axis, self.is_ascend, k)
            elif few:
                select_by_ranks(ib, ins, *written, axis, self.is_ascend, k)
            else:
                sort_elements(ib, ins, *written, axis, self.is_ascend, k)

        return te.extern([shape] * len(names), taken, fill, dtype=[types[w] for w in names], name="topk")
