"""Choosing among overlapping boxes, for each class on its own: `vision.all_class_non_max_suppression`.

Boxes are visited by falling score, ties in the order in which they came.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, TupleType, Type
from ...ir.dims import ANY, Dim
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..conversion import convert
from ..shapes import mul, require_compatible, require_floats, require_one_number, require_rank, tensor
from ..sorting import merge_sort, outranks
from .overlap import overlap, overlap_of


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
    """Non-maximum suppression for each class and image separately: `boxes` (batch, n, 4), `scores` (batch, classes, n).

    In the format `onnx` the result is (batch, class, box) triples, all batches together, and their number. In the format
    `tensorflow` it is (class, box) pairs per batch, their scores, and their numbers. What is behind the last is zero.
    """

    differentiable = False

    output_format: str = "onnx"

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """Boxes `(batch, n, 4)` and scores `(batch, classes, n)` give int64 triples and their number, or pairs, scores
        and numbers for each batch.
        """
        boxes, scores = tensor(types[0], "boxes"), tensor(types[1], "scores")
        if boxes is None or scores is None:
            return None
        require_rank(boxes, 3, "boxes")
        require_rank(scores, 3, "scores")
        require_floats(boxes, "boxes")
        require_floats(scores, "scores")
        require_compatible(boxes.shape[0], scores.shape[0], "the batches of boxes and scores")
        require_compatible(boxes.shape[1], scores.shape[2], "the numbers of boxes of boxes and scores")
        require_compatible(boxes.shape[2], 4, "axis 2 of boxes and the number of coordinates")
        for type, name in zip(
            types[2:], ("max_output_boxes_per_class", "iou_threshold", "score_threshold"), strict=True
        ):
            require_one_number(tensor(type, name), name)
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
        limit = int(convert(most, "int32").reshape(()))
        selected = [
            [self.select(boxes[b], scores[b, c], limit, iou.reshape(()), least.reshape(())) for c in range(classes)]
            for b in range(batch)
        ]
        if self.output_format == "onnx":
            rows = [(b, c, n) for b in range(batch) for c in range(classes) for n in selected[b][c]]
            out = np.zeros((batch * classes * count, 3), np.int64)
            out[: len(rows)] = np.array(rows, np.int64).reshape(-1, 3)
            return out, np.array([len(rows)], np.int64)
        indices = np.zeros((batch, classes * count, 2), np.int64)
        selected_scores = np.zeros((batch, classes * count), np.float32)
        counts = np.zeros(batch, np.int64)
        for b in range(batch):
            rows2 = [(c, n) for c in range(classes) for n in selected[b][c]]
            indices[b, : len(rows2)] = np.array(rows2, np.int64).reshape(-1, 2)
            selected_scores[b, : len(rows2)] = [scores[b, c, n] for c, n in rows2]
            counts[b] = len(rows2)
        return indices, selected_scores, counts

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        _, scores = inputs[:2]
        batch, classes, count = scores.shape
        onnx = self.output_format == "onnx"
        types = out_type.fields

        def program(ib: Any, ins: Any, outs: Any) -> None:
            x, s, *numbers = ins
            most, iou, least = (v[(0,) * len(v.shape)] for v in numbers)
            sorted_, merged = (ib.allocate((count,), "int32", name=n) for n in ("sorted", "merged"))
            removed = ib.allocate((count,), "int32", name="gone")
            total = ib.local("int32", 0)
            with ib.for_(batch, name="b") as b:
                if not onnx:
                    total.set(0)
                with ib.for_(classes, name="c") as c:
                    order = merge_sort(ib, count, sorted_, merged, lambda p, q: outranks(s[b, c, p], s[b, c, q]))
                    with ib.for_(count) as j:
                        ib.store(removed, (j,), te.cast(te.logical_not(s[b, c, order[j]] > least), "int32"))
                    limit = te.cast(most, "int32")
                    limit = ib.let(te.select(limit > 0, limit, count))
                    limit = ib.let(te.select(iou > te.const(0, iou.dtype), limit, 0))
                    chosen = ib.local("int32", 0)
                    with ib.for_(count) as j, ib.if_(te.all(removed[j].equal(0), chosen() < limit)):
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
                            with ib.if_(te.all(removed[k].equal(0), s[b, c, other] > te.const(0, scores.dtype))):
                                near = overlap_of(ib, lambda n: x[b, mine, n], lambda n: x[b, other, n])
                                with ib.if_(near >= iou):
                                    ib.store(removed, (k,), 1)
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
