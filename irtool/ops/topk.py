"""`topk`: the first elements of sorted rows, without sorting all of them.

Rows are read once. The best elements so far are in a heap with the worst of them at its root, and elements are passed over in
blocks where none is better than that one: of a random row, most. Few elements are sorted then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import te
from ..deferred import np
from ..diagnostics import IrError
from ..ir import TensorType, TupleType, Type
from ..tir import dtypes
from .base import VOID, DType, Operator, Pattern, RelationError, Reporter, operator
from .dtypes import numpy_dtype
from .rows import rows
from .shapes import normalize_axis, tensor
from .sorting import merge_sort, order, precedes, sort_elements

_BLOCK = 64
"""Elements that are compared with the worst of the best at once."""
_SHARE = 4
"""A row is sorted as a whole unless it has more than so many times the elements that are kept."""


class _Heap:
    """The positions and values of the best elements of a row so far, each node worse than its children.

    Of equal elements the earlier one is better, as stable sorting has it.
    """

    def __init__(self, ib: Any, size: int, dtype: str, ascending: bool) -> None:
        self.ib = ib
        self.size = size
        self.ascending = ascending
        self.values = ib.allocate((size,), dtype, name="kept")
        self.positions = ib.allocate((size,), "int32", name="kept_at")

    def before(self, a: Any, b: Any) -> Any:
        """Whether node `a` comes before node `b` in the sorted row."""
        return self._before(self.values[a], self.positions[a], self.values[b], self.positions[b])

    def _before(self, x: Any, at: Any, y: Any, there: Any) -> Any:
        later = te.logical_not(precedes(y, x, self.ascending))
        return te.any(precedes(x, y, self.ascending), te.all(later, at < there))

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


def _select(ib: Any, source: Any, values: Any, positions: Any, axis: int, ascending: bool, kept: int) -> None:
    """Writes loops that put the first `kept` elements of each sorted row in `values`, and their positions in `positions`.

    Either may be None. Much less work than sorting where few elements are kept; at worst, `log kept` steps for each element.
    """
    extent = source.shape[axis]
    heap = _Heap(ib, kept, source.dtype, ascending)
    here, there = (ib.allocate((kept,), "int32", name=n) for n in ("sorted", "merged"))
    with rows(ib, source.shape, axis) as row:
        with ib.for_(kept) as i:
            ib.store(heap.values, (i,), source[row(i)])
            ib.store(heap.positions, (i,), i)
        with ib.for_(kept // 2) as i:
            node = ib.let(kept // 2 - 1 - i)
            value, at = ib.let(heap.values[node]), ib.let(heap.positions[node])
            heap.sift(node, value, at)
        whole, left = divmod(extent - kept, _BLOCK)
        if whole:
            with ib.for_(whole) as block:
                _scan(ib, source, row, heap, block * _BLOCK + kept, _BLOCK)
        if left:
            _scan(ib, source, row, heap, te.const(extent - left, "int32"), left)
        in_order = merge_sort(ib, kept, here, there, heap.before)
        with ib.for_(kept) as i:
            if values is not None:
                ib.store(values, row(i), heap.values[in_order[i]])
            if positions is not None:
                ib.store(positions, row(i), te.cast(heap.positions[in_order[i]], positions.dtype))


def _scan(ib: Any, source: Any, row: Any, heap: _Heap, first: Any, count: int) -> None:
    """A block of a row: unless all of its elements are worse than the root, each that is better takes the root's place."""
    worst = ib.let(heap.values[0])
    better = ib.local("int32", 0)
    with ib.for_(count) as i:
        better.set(better() | _is_better(source[row(first + i)], worst, heap.ascending))
    with ib.if_(better() > 0), ib.for_(count) as i:
        value = ib.let(source[row(first + i)])
        with ib.if_(precedes(value, heap.values[0], heap.ascending)):
            heap.sift(te.const(0, "int32"), value, ib.let(first + i))


def _is_better(x: Any, worst: Any, ascending: bool) -> Any:
    """`precedes` as 0 or 1, without branches, which compilers make no vectors of."""
    found = te.cast(x < worst if ascending else x > worst, "int32")
    if not dtypes.is_float(x.dtype):
        return found
    low, high = (x, worst) if ascending else (worst, x)
    return found | (te.cast(te.equal(low, low), "int32") & te.cast(te.not_equal(high, high), "int32"))


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
        extent = self.k if self.k >= 1 else x.shape[axis]
        if isinstance(extent, int) and isinstance(have := x.shape[axis], int) and extent > have:
            raise RelationError(f"k is {self.k}, and axis {axis} has {have} elements")
        shape = (*x.shape[:axis], extent, *x.shape[axis + 1 :])
        values, positions = TensorType(shape, x.dtype), TensorType(shape, self.dtype)
        return {"both": TupleType((values, positions)), "values": values, "indices": positions}[self.ret_type]

    def evaluate(self, x: np.ndarray) -> Any:
        axis = normalize_axis(self.axis, x.ndim)
        kept = self.k if self.k is not None and self.k >= 1 else x.shape[axis]
        if kept > x.shape[axis]:
            raise IrError(f"topk of {kept} elements along an axis of extent {x.shape[axis]}")
        positions = np.take(order(x, axis, self.is_ascend), np.arange(kept), axis)
        values = np.take_along_axis(x, positions, axis)
        if self.ret_type == "values":
            return values
        indices = positions.astype(numpy_dtype(self.dtype))
        return (values, indices) if self.ret_type == "both" else indices

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (x,) = inputs
        axis = normalize_axis(self.axis, x.ndim)
        kept = self.k if self.k is not None and self.k >= 1 else x.shape[axis]
        shape = (*x.shape[:axis], kept, *x.shape[axis + 1 :])
        wanted = [w for w in ("values", "indices") if self.ret_type in ("both", w)]
        dtypes = {"values": x.dtype, "indices": self.dtype}

        def fill(ib: Any, ins: Sequence[Any], outs: Sequence[Any]) -> None:
            to = dict(zip(wanted, outs, strict=True))
            few = 0 < kept * _SHARE < x.shape[axis] and x.dtype != "bool"
            write = _select if few else sort_elements
            write(ib, ins[0], to.get("values"), to.get("indices"), axis, self.is_ascend, kept)

        return te.extern([shape] * len(wanted), [x], fill, dtype=[dtypes[w] for w in wanted], name="topk")
