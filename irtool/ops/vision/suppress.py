"""Choosing among overlapping boxes: `vision.get_valid_counts`, `non_max_suppression`, `all_class_non_max_suppression`.

Boxes are visited by falling score, ties in the order in which they came.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import te
from ...ir import TensorType, TupleType, Type
from ...ir.dims import ANY, Dim
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..shapes import mul, require_rank, tensor
from ..sorting import merge_sort


def overlap(box: Any, others: Any) -> Any:
    """Intersection over union of one box with each of `others` (n, 4); corners may come in any order."""
    low, high = np.minimum(box[:2], box[2:]), np.maximum(box[:2], box[2:])
    lows, highs = np.minimum(others[:, :2], others[:, 2:]), np.maximum(others[:, :2], others[:, 2:])
    zero = others.dtype.type(0)
    w, h = np.maximum(zero, np.minimum(high, highs) - np.maximum(low, lows)).T
    both = h * w
    union = (high[0] - low[0]) * (high[1] - low[1]) + (highs[:, 0] - lows[:, 0]) * (highs[:, 1] - lows[:, 1]) - both
    return np.divide(both, union, out=np.zeros_like(both), where=union > 0)


def overlap_of(ib: Any, mine: Any, other: Any) -> Any:
    """`overlap` as an expression; `mine(k)` and `other(k)` give coordinate k of a box."""
    corners = []
    for box in (mine, other):
        low = [ib.let(te.min2(box(k), box(k + 2))) for k in range(2)]
        high = [ib.let(te.max2(box(k), box(k + 2))) for k in range(2)]
        corners.append((low, high))
    (low, high), (lows, highs) = corners
    zero = te.const(0, low[0].dtype)
    w, h = (te.max2(zero, te.min2(high[k], highs[k]) - te.max2(low[k], lows[k])) for k in range(2))
    both = ib.let(h * w)
    areas = [(b[0] - a[0]) * (b[1] - a[1]) for a, b in corners]
    union = ib.let(areas[0] + areas[1] - both)
    return te.if_then_else(union > zero, both / union, zero)


@operator(
    "vision.get_valid_counts",
    "data",
    "score_threshold",
    pattern=Pattern.OPAQUE,
    attrs="GetValidCountsAttrs",
    level=5,
    declares_attrs=False,
)
@dataclass(frozen=True)
class GetValidCounts(Operator):
    """The boxes of each batch with a score above the threshold (and a class not below 0) moved to the front.

    The result is their number, the boxes, and where each came from; the rest is filled with -1. The threshold is the
    second argument; `id_index` and `score_index` say where in a box its class (-1: none) and its score stand.
    """

    score_threshold: float | None
    id_index: int = 0
    score_index: int = 1

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        data = tensor(types[0], "data")
        if data is None:
            return None
        require_rank(data, 3, "data")
        count = TensorType((data.shape[0],), "int32")
        return TupleType((count, data, TensorType(data.shape[:2], "int32")))

    def evaluate(self, data: Any, threshold: Any) -> Any:
        kept = data[:, :, self.score_index] > threshold.reshape(()).astype(data.dtype)
        if self.id_index >= 0:
            kept &= data[:, :, self.id_index] >= 0
        count = kept.sum(1).astype(np.int32)
        boxes = np.full_like(data, -1)
        where = np.full(data.shape[:2], -1, np.int32)
        for b, n in enumerate(count):
            chosen = np.flatnonzero(kept[b])
            boxes[b, :n] = data[b, chosen]
            where[b, :n] = chosen
        return count, boxes, where

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, _ = inputs
        batch, anchors, length = data.shape

        def program(ib: Any, ins: Any, outs: Any) -> None:
            x, threshold = ins
            count, boxes, where = outs
            with ib.for_(batch, name="b") as b:
                n = ib.local("int32", 0)
                with ib.for_(anchors) as j:
                    kept = x[b, j, self.score_index] > te.cast(threshold[()], data.dtype)
                    if self.id_index >= 0:
                        kept = te.all(kept, x[b, j, self.id_index] >= te.const(0, data.dtype))
                    with ib.if_(kept):
                        with ib.for_(length) as k:
                            ib.store(boxes, (b, n(), k), x[b, j, k])
                        ib.store(where, (b, n()), j)
                        n.set(n() + 1)
                ib.store(count, (b,), n())
                with ib.for_(n(), anchors) as j:
                    with ib.for_(length) as k:
                        ib.store(boxes, (b, j, k), te.const(-1, data.dtype))
                    ib.store(where, (b, j), -1)

        types = out_type.fields
        return te.extern(
            [t.shape for t in types], inputs, program, dtype=[t.dtype for t in types], name="get_valid_counts"
        )


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

    force_suppress: bool = False
    top_k: int = -1
    coord_start: int = 2
    score_index: int = 1
    id_index: int = 0
    return_indices: bool = True
    invalid_to_bottom: bool = False

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        data, valid = tensor(types[0], "data"), tensor(types[1], "valid_count")
        if data is None or valid is None:
            return None
        require_rank(data, 3, "data")
        require_rank(valid, 1, "valid_count")
        if not self.return_indices:
            return data
        batch, anchors, _ = data.shape
        return TupleType((TensorType((batch, anchors), "int32"), TensorType((batch, 1), "int32")))

    def evaluate(self, data: Any, valid_count: Any, indices: Any, max_output: Any, iou: Any) -> Any:
        batch, anchors, _ = data.shape
        boxes = np.full_like(data, -1)
        places = np.full((batch, anchors), -1, np.int32)
        threshold, most = iou.reshape(()).astype(data.dtype), int(max_output.reshape(()))
        for b in range(batch):
            valid = min(max(int(valid_count[b]), 0), anchors)
            if threshold > 0:
                order = np.argsort(-data[b, :valid, self.score_index], kind="stable")
                keep = self.top_k if 0 < self.top_k < valid else valid
                boxes[b, :keep] = data[b, order[:keep]]
                places[b, :keep] = order[:keep]
                self._suppress(boxes[b, :valid], places[b, :valid], threshold, most)
            else:
                boxes[b, :valid] = data[b, :valid]
                places[b, :valid] = np.arange(valid)
        if not self.return_indices:
            return self._sink(boxes) if self.invalid_to_bottom else boxes
        out = np.full((batch, anchors), -1, np.int32)
        count = np.zeros((batch, 1), np.int32)
        for b in range(batch):
            kept = places[b][places[b] >= 0]
            named = indices[b, kept]
            named = named[named >= 0]
            out[b, : named.size] = named
            count[b, 0] = named.size
        return out, count

    def _suppress(self, boxes: Any, places: Any, threshold: Any, most: int) -> None:
        start, found = self.coord_start, 0
        for j in range(len(boxes)):
            if found == most:
                boxes[j] = -1
                places[j] = -1
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
                places[j] = -1
            else:
                found += 1

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data = inputs[0]
        dtype = data.dtype
        batch, anchors, length = data.shape
        types = out_type.fields if self.return_indices else [out_type]

        def number(value: int) -> Any:
            return te.const(value, dtype)

        def program(ib: Any, ins: Any, outs: Any) -> None:
            x, valid_count, indices, most, iou = ins
            here, there = (ib.allocate((anchors,), "int32", name=n) for n in ("sorted", "merged"))
            boxes = ib.allocate((anchors, length), dtype, name="boxes")
            places = ib.allocate((anchors,), "int32", name="places")

            def remove(j: Any) -> None:
                with ib.for_(length) as k:
                    ib.store(boxes, (j, k), number(-1))
                ib.store(places, (j,), -1)

            with ib.for_(batch, name="b") as b:
                valid = ib.let(te.max2(te.min2(te.cast(valid_count[b], "int32"), anchors), 0))
                threshold = te.cast(iou[()], dtype)

                def before(p: Any, q: Any, b: Any = b, valid: Any = valid) -> Any:
                    better = x[b, p, self.score_index] > x[b, q, self.score_index]
                    return te.any(te.all(p < valid, q >= valid), te.all(p < valid, q < valid, better))

                order = merge_sort(ib, anchors, here, there, before)
                with ib.for_(anchors) as j:
                    limit = valid
                    if self.top_k > 0:
                        limit = te.select(threshold > number(0), te.min2(valid, self.top_k), valid)
                    with ib.if_(j < limit):
                        source = ib.let(te.select(threshold > number(0), order[j], j))
                        with ib.for_(length) as k:
                            ib.store(boxes, (j, k), x[b, source, k])
                        ib.store(places, (j,), source)
                    with ib.else_():
                        remove(j)
                with ib.if_(threshold > number(0)):
                    self._visit(ib, boxes, places, valid, te.cast(most[()], "int32"), threshold, remove)
                if self.return_indices:
                    named, count = outs
                    n = ib.local("int32", 0)
                    with ib.for_(anchors) as j:
                        at = ib.let(places[j])
                        with ib.if_(at >= 0):
                            name = ib.let(te.cast(indices[b, te.max2(at, 0)], "int32"))
                            with ib.if_(name >= 0):
                                ib.store(named, (b, n()), name)
                                n.set(n() + 1)
                    ib.store(count, (b, 0), n())
                    with ib.for_(n(), anchors) as j:
                        ib.store(named, (b, j), -1)
                    return
                (out,) = outs
                n = ib.local("int32", 0)
                with ib.for_(anchors) as j:
                    stays = boxes[j, 0] >= number(0) if self.invalid_to_bottom else te.const(True, "bool")
                    with ib.if_(stays):
                        with ib.for_(length) as k:
                            ib.store(out, (b, n(), k), boxes[j, k])
                        n.set(n() + 1)
                with ib.for_(n(), anchors) as j, ib.for_(length) as k:
                    ib.store(out, (b, j, k), number(-1))

        made = te.extern(
            [t.shape for t in types], inputs, program, dtype=[t.dtype for t in types], name="non_max_suppression"
        )
        return list(made)

    def _visit(self, ib: Any, boxes: Any, places: Any, valid: Any, most: Any, threshold: Any, remove: Any) -> None:
        """Writes the loops of `_suppress`."""
        zero = te.const(0, boxes.dtype)
        found = ib.local("int32", 0)
        with ib.for_(valid) as j:
            with ib.if_(found().equal(most)):
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
                    found.set(found() + 1)
                with ib.else_():
                    remove(j)

    @staticmethod
    def _sink(boxes: Any) -> Any:
        out = np.full_like(boxes, -1)
        for b in range(len(boxes)):
            kept = boxes[b][boxes[b, :, 0] >= 0]
            out[b, : len(kept)] = kept
        return out


@operator(
    "vision.all_class_non_max_suppression",
    "boxes",
    "scores",
    "max_output_boxes_per_class",
    "iou_threshold",
    "score_threshold",
    pattern=Pattern.OPAQUE,
    attrs="AllClassNonMaximumSuppressionAttrs",
    level=5,
    declares_attrs=False,
)
@dataclass(frozen=True)
class AllClassNonMaxSuppression(Operator):
    """Suppression for each class of each batch on its own: `boxes` (batch, n, 4), `scores` (batch, classes, n).

    In the format `onnx` the result is (batch, class, box) triples, all batches together, and their number. In the format
    `tensorflow` it is (class, box) pairs per batch, their scores, and their numbers. What is behind the last is zero.
    """

    output_format: str = "onnx"

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        boxes, scores = tensor(types[0], "boxes"), tensor(types[1], "scores")
        if boxes is None or scores is None:
            return None
        require_rank(boxes, 3, "boxes")
        require_rank(scores, 3, "scores")
        batch, count = boxes.shape[:2]
        classes = scores.shape[1]
        if self.output_format == "onnx":
            total: Dim = ANY if batch is ANY or count is ANY else mul(mul(batch, classes), count)
            return TupleType((TensorType((total, 3), "int64"), TensorType((1,), "int64")))
        if self.output_format != "tensorflow":
            raise RelationError(f'output_format is "{self.output_format}"; it can be "onnx" or "tensorflow"')
        each: Dim = ANY if count is ANY else mul(classes, count)
        return TupleType(
            (
                TensorType((batch, each, 2), "int64"),
                TensorType((batch, each), "float32"),
                TensorType((batch,), "int64"),
            )
        )

    def select(self, boxes: Any, scores: Any, most: int, iou: Any, least: Any) -> Any:
        """Indices of the chosen boxes of one class, by falling score."""
        order = np.argsort(-scores, kind="stable")
        order = order[: int((scores[order] > least).sum())]
        most = most if most > 0 else len(order)
        chosen: list[int] = []
        if not iou > 0:
            return chosen
        alive = np.ones(len(order), bool)
        for j in range(len(order)):
            if len(chosen) >= most:
                break
            if not alive[j]:
                continue
            chosen.append(int(order[j]))
            rest = order[j + 1 :]
            alive[j + 1 :] &= ~((overlap(boxes[order[j]], boxes[rest]) >= iou) & (scores[rest] > 0))
        return chosen

    def evaluate(self, boxes: Any, scores: Any, most: Any, iou: Any, least: Any) -> Any:
        batch, classes, count = scores.shape
        limit = int(most.reshape(()))
        found = [
            [self.select(boxes[b], scores[b, c], limit, iou.reshape(()), least.reshape(())) for c in range(classes)]
            for b in range(batch)
        ]
        if self.output_format == "onnx":
            rows = [(b, c, n) for b in range(batch) for c in range(classes) for n in found[b][c]]
            out = np.zeros((batch * classes * count, 3), np.int64)
            out[: len(rows)] = np.array(rows, np.int64).reshape(-1, 3)
            return out, np.array([len(rows)], np.int64)
        pairs = np.zeros((batch, classes * count, 2), np.int64)
        kept = np.zeros((batch, classes * count), np.float32)
        counts = np.zeros(batch, np.int64)
        for b in range(batch):
            rows2 = [(c, n) for c in range(classes) for n in found[b][c]]
            pairs[b, : len(rows2)] = np.array(rows2, np.int64).reshape(-1, 2)
            kept[b, : len(rows2)] = [scores[b, c, n] for c, n in rows2]
            counts[b] = len(rows2)
        return pairs, kept, counts

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        _, scores = inputs[:2]
        batch, classes, count = scores.shape
        onnx = self.output_format == "onnx"
        types = out_type.fields

        def program(ib: Any, ins: Any, outs: Any) -> None:
            x, s, most, iou, least = ins
            here, there = (ib.allocate((count,), "int32", name=n) for n in ("sorted", "merged"))
            gone = ib.allocate((count,), "int32", name="gone")
            total = ib.local("int32", 0)
            with ib.for_(batch, name="b") as b:
                if not onnx:
                    total.set(0)
                with ib.for_(classes, name="c") as c:
                    order = merge_sort(ib, count, here, there, lambda p, q: s[b, c, p] > s[b, c, q])
                    with ib.for_(count) as j:
                        ib.store(gone, (j,), te.cast(te.logical_not(s[b, c, order[j]] > least[()]), "int32"))
                    limit = te.cast(most[()], "int32")
                    limit = ib.let(te.select(limit > 0, limit, count))
                    limit = ib.let(te.select(iou[()] > te.const(0, iou.dtype), limit, 0))
                    chosen = ib.local("int32", 0)
                    with ib.for_(count) as j, ib.if_(te.all(gone[j].equal(0), chosen() < limit)):
                        mine = ib.let(order[j])
                        if onnx:
                            for k, value in enumerate((b, c, mine)):
                                ib.store(outs[0], (total(), k), te.cast(value, "int64"))
                        else:
                            for k, value in enumerate((c, mine)):
                                ib.store(outs[0], (b, total(), k), te.cast(value, "int64"))
                            ib.store(outs[1], (b, total()), te.cast(s[b, c, mine], "float32"))
                        chosen.set(chosen() + 1)
                        total.set(total() + 1)
                        with ib.for_(j + 1, count) as k:
                            other = ib.let(order[k])
                            with ib.if_(te.all(gone[k].equal(0), s[b, c, other] > te.const(0, scores.dtype))):
                                near = overlap_of(ib, lambda n: x[b, mine, n], lambda n: x[b, other, n])
                                with ib.if_(near >= iou[()]):
                                    ib.store(gone, (k,), 1)
                if not onnx:
                    ib.store(outs[2], (b,), te.cast(total(), "int64"))
                    with ib.for_(total(), classes * count) as j:
                        for k in range(2):
                            ib.store(outs[0], (b, j, k), te.const(0, "int64"))
                        ib.store(outs[1], (b, j), te.const(0, "float32"))
            if onnx:
                ib.store(outs[1], (0,), te.cast(total(), "int64"))
                with ib.for_(total(), batch * classes * count) as j:
                    for k in range(3):
                        ib.store(outs[0], (j, k), te.const(0, "int64"))

        return te.extern(
            [t.shape for t in types],
            inputs,
            program,
            dtype=[t.dtype for t in types],
            name="all_class_non_max_suppression",
        )
