"""Choosing among overlapping boxes: `vision.non_max_suppression`.

Boxes are visited by falling score, ties in the order in which they came.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, TupleType, Type
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..conversion import convert
from ..relations import show_shape
from ..shapes import (
    require_compatible,
    require_floats,
    require_integers,
    require_rank,
    require_scalar,
    tensor,
)
from ..sorting import merge_sort, outranks
from .overlap import overlap, overlap_of


@operator(
    "vision.non_max_suppression",
    "data",
    "valid_count",
    "indices",
    "max_output_size",
    "iou_threshold",
    pattern=Pattern.OPAQUE,
    attrs="NonMaximumSuppressionAttrs",
    level=5,
    declares_attrs=False,
)
@dataclass(frozen=True)
class NonMaxSuppression(Operator):
    """The boxes by falling score, without those that overlap a better one (of their class) by `iou_threshold` or more.

    Of each batch the first `valid_count` boxes count, of these the best `top_k`; at most `max_output_size` are kept (-1:
    all). With `return_indices` the result is, for each kept box, its entry of `indices`, and their number; otherwise the
    boxes, removed ones being -1 (and moved behind the others with `invalid_to_bottom`).
    """

    differentiable = False

    force_suppress: bool = False
    top_k: int = -1
    coord_start: int = 2
    score_index: int = 1
    id_index: int = 0
    return_indices: bool = True
    invalid_to_bottom: bool = False

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The type of the data `(batch, n, m)`, or with `return_indices` a tuple of int32 `(batch, n)` and `(batch,
        1)`.
        """
        data, valid = tensor(types[0], "data"), tensor(types[1], "valid_count")
        tensor(types[2], "indices")
        if data is None or valid is None:
            return None
        require_rank(data, 3, "data")
        require_rank(valid, 1, "valid_count")
        require_compatible(data.shape[0], valid.shape[0], "the batches of data and valid_count")
        require_floats(data, "data")
        require_integers(valid, "valid_count")
        require_scalar(tensor(types[3], "max_output_size"), "max_output_size")
        require_scalar(tensor(types[4], "iou_threshold"), "iou_threshold")
        length = data.shape[2]
        last = (("score_index", self.score_index, 1), ("coord_start", self.coord_start, 4))
        for name, index, width in (*last, ("id_index", max(self.id_index, 0), 1)):
            if index < 0 or (isinstance(length, int) and index + width > length):
                raise RelationError(f"{name} {index} is out of range for boxes of {length} numbers")
        if not self.return_indices:
            return data
        batch, anchors, _ = data.shape
        return TupleType((TensorType((batch, anchors), "int32"), TensorType((batch, 1), "int32")))

    def require_entries(self, boxes: Sequence[int], indices: Sequence[int]) -> None:
        """RelationError unless `indices` has an entry for each box, where one is read; TVM's type rule does not look."""
        if self.return_indices and tuple(indices) != tuple(boxes[:2]):
            raise RelationError(f"indices must be {show_shape(boxes[:2])}, one for each box, not {show_shape(indices)}")

    def evaluate(self, data: Any, valid_count: Any, indices: Any, max_output: Any, iou: Any) -> Any:
        self.require_entries(data.shape, indices.shape)
        batch, anchors, _ = data.shape
        boxes = np.full_like(data, -1)
        positions = np.full((batch, anchors), -1, np.int32)
        threshold, most = convert(iou, data.dtype).reshape(()), int(convert(max_output, "int32").reshape(()))
        for b in range(batch):
            valid = min(max(int(convert(valid_count[b], "int32")), 0), anchors)
            if threshold > 0:
                order = np.argsort(-data[b, :valid, self.score_index], kind="stable")
                keep = self.top_k if 0 < self.top_k < valid else valid
                boxes[b, :keep] = data[b, order[:keep]]
                positions[b, :keep] = order[:keep]
                self._suppress(boxes[b, :valid], positions[b, :valid], threshold, most)
            else:
                boxes[b, :valid] = data[b, :valid]
                positions[b, :valid] = np.arange(valid)
        if not self.return_indices:
            return self._sink(boxes) if self.invalid_to_bottom else boxes
        out = np.full((batch, anchors), -1, np.int32)
        count = np.zeros((batch, 1), np.int32)
        for b in range(batch):
            selected = positions[b][positions[b] >= 0]
            named = convert(indices[b, selected], "int32")
            named = named[named >= 0]
            out[b, : named.size] = named
            count[b, 0] = named.size
        return out, count

    def _suppress(self, boxes: Any, positions: Any, threshold: Any, most: int) -> None:
        start, selected_count = self.coord_start, 0
        for j in range(len(boxes)):
            if selected_count == most:
                boxes[j] = -1
                positions[j] = -1
                continue
            if not boxes[j, self.score_index] > 0:
                continue
            before = boxes[:j]
            rivals = before[:, self.score_index] > 0
            if self.id_index >= 0:
                rivals &= before[:, self.id_index] >= 0
                if not self.force_suppress:
                    rivals &= before[:, self.id_index] == boxes[j, self.id_index]
            near = overlap(boxes[j, start : start + 4], before[rivals, start : start + 4])
            if (near >= threshold).any():
                boxes[j] = -1
                positions[j] = -1
            else:
                selected_count += 1

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data = inputs[0]
        self.require_entries(data.shape, inputs[2].shape)
        dtype = data.dtype
        batch, anchors, length = data.shape
        types = out_type.fields if self.return_indices else [out_type]

        def number(value: int) -> Any:
            return te.const(value, dtype)

        def program(ib: Any, ins: Any, outs: Any) -> None:
            x, valid_count, indices, most, iou = ins
            sorted_, merged = (ib.allocate((anchors,), "int32", name=n) for n in ("sorted", "merged"))
            boxes = ib.allocate((anchors, length), dtype, name="boxes")
            positions = ib.allocate((anchors,), "int32", name="places")

            def remove(j: Any) -> None:
                with ib.for_(length) as k:
                    ib.store(boxes, (j, k), number(-1))
                ib.store(positions, (j,), -1)

            with ib.for_(batch, name="b") as b:
                valid = ib.let(te.max2(te.min2(te.cast(valid_count[b], "int32"), anchors), 0))
                threshold = te.cast(iou[()], dtype)

                def before(p: Any, q: Any, b: Any = b, valid: Any = valid) -> Any:
                    better = outranks(x[b, p, self.score_index], x[b, q, self.score_index])
                    return te.any(te.all(p < valid, q >= valid), te.all(p < valid, q < valid, better))

                order = merge_sort(ib, anchors, sorted_, merged, before)
                with ib.for_(anchors) as j:
                    limit = valid
                    if self.top_k > 0:
                        limit = te.select(threshold > number(0), te.min2(valid, self.top_k), valid)
                    with ib.if_(j < limit):
                        source = ib.let(te.select(threshold > number(0), order[j], j))
                        with ib.for_(length) as k:
                            ib.store(boxes, (j, k), x[b, source, k])
                        ib.store(positions, (j,), source)
                    with ib.else_():
                        remove(j)
                with ib.if_(threshold > number(0)):
                    self._visit(ib, boxes, positions, valid, te.cast(most[()], "int32"), threshold, remove)
                if self.return_indices:
                    _write_indices(ib, b, positions, indices, *outs)
                else:
                    self._write_boxes(ib, b, boxes, *outs)

        outputs = te.extern(
            [t.shape for t in types], inputs, program, dtype=[t.dtype for t in types], name="non_max_suppression"
        )
        return list(outputs)

    def _write_boxes(self, ib: Any, b: Any, boxes: Any, out: Any) -> None:
        """Writes the loops that store the boxes, those that stay first if `invalid_to_bottom`."""
        anchors, length = boxes.shape
        zero, invalid = te.const(0, boxes.dtype), te.const(-1, boxes.dtype)
        n = ib.local("int32", 0)
        with ib.for_(anchors) as j:
            stays = boxes[j, 0] >= zero if self.invalid_to_bottom else te.const(True, "bool")
            with ib.if_(stays):
                with ib.for_(length) as k:
                    ib.store(out, (b, n(), k), boxes[j, k])
                n.set(n() + 1)
        with ib.for_(n(), anchors) as j, ib.for_(length) as k:
            ib.store(out, (b, j, k), invalid)

    def _visit(self, ib: Any, boxes: Any, positions: Any, valid: Any, most: Any, threshold: Any, remove: Any) -> None:
        """Writes the loops of `_suppress`."""
        zero = te.const(0, boxes.dtype)
        selected_count = ib.local("int32", 0)
        with ib.for_(valid) as j:
            with ib.if_(selected_count().equal(most)):
                remove(j)
            with ib.else_(), ib.if_(boxes[j, self.score_index] > zero):
                alone = ib.local("int32", 1)
                with ib.for_(j) as k:
                    rival = boxes[k, self.score_index] > zero
                    if self.id_index >= 0:
                        rival = te.all(rival, boxes[k, self.id_index] >= zero)
                        if not self.force_suppress:
                            rival = te.all(rival, boxes[k, self.id_index].equal(boxes[j, self.id_index]))
                    with ib.if_(te.all(alone().equal(1), rival)):
                        start = self.coord_start
                        near = overlap_of(ib, lambda c: boxes[j, start + c], lambda c: boxes[k, start + c])
                        with ib.if_(near >= threshold):
                            alone.set(0)
                with ib.if_(alone().equal(1)):
                    selected_count.set(selected_count() + 1)
                with ib.else_():
                    remove(j)

    @staticmethod
    def _sink(boxes: Any) -> Any:
        out = np.full_like(boxes, -1)
        for b in range(len(boxes)):
            valid_boxes = boxes[b][boxes[b, :, 0] >= 0]
            out[b, : len(valid_boxes)] = valid_boxes
        return out


def _write_indices(ib: Any, b: Any, positions: Any, indices: Any, named: Any, count: Any) -> None:
    """Writes the loops that store the indices of the boxes that stay, and how many there are."""
    (anchors,) = positions.shape
    n = ib.local("int32", 0)
    with ib.for_(anchors) as j:
        position = ib.let(positions[j])
        with ib.if_(position >= 0):
            name = ib.let(te.cast(indices[b, te.max2(position, 0)], "int32"))
            with ib.if_(name >= 0):
                ib.store(named, (b, n()), name)
                n.set(n() + 1)
    ib.store(count, (b, 0), n())
    with ib.for_(n(), anchors) as j:
        ib.store(named, (b, j), -1)
