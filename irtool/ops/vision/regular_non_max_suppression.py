"""Choosing among overlapping boxes class by class, the best of all classes together: `vision.regular_non_max_suppression`.

Boxes are visited by falling score, ties in the order in which they came, lower classes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, TupleType, Type
from ..base import Operator, RelationError, Reporter, operator
from ..shapes import require_compatible, require_rank, tensor
from ..sorting import merge_sort, outranks


@operator(
    "vision.regular_non_max_suppression",
    "boxes",
    "scores",
    attrs="RegularNonMaximumSuppressionAttrs",
    level=5,
    declares_attrs=False,
)
@dataclass(frozen=True)
class RegularNonMaxSuppression(Operator):
    """The `max_detections` best boxes of each image: their corners, classes, scores, and how many there are.

    `boxes` (batch, n, 4) are (ymin, xmin, ymax, xmax), `scores` (batch, n, classes), of which the last `num_classes` are
    looked at, the others being the background. Each class on its own: boxes that score `score_threshold` or more, without
    those that overlap a better one by more than `iou_threshold`, at most `max_detections_per_class`. What is behind the
    last detection is zero. As TensorFlow Lite's regular suppression does it.
    """

    differentiable = False

    max_detections_per_class: int
    max_detections: int
    num_classes: int
    iou_threshold: float
    score_threshold: float

    since = "0.14"

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """float32 `(batch, n, 4)` and `(batch, n, classes)` give boxes `(batch, most, 4)`, classes and scores `(batch, most)`,
        all float32, and int32 numbers `(batch)`, where most is `max_detections`.
        """
        boxes, scores = tensor(types[0], "boxes"), tensor(types[1], "scores")
        if boxes is None or scores is None:
            return None
        require_rank(boxes, 3, "boxes")
        require_rank(scores, 3, "scores")
        for t, name in ((boxes, "boxes"), (scores, "scores")):
            if t.dtype != "float32":
                raise RelationError(f"{name} must hold float32, not {t.dtype}")
        require_compatible(boxes.shape[0], scores.shape[0], "the numbers of images of boxes and scores")
        require_compatible(boxes.shape[1], scores.shape[1], "the numbers of boxes of boxes and scores")
        require_compatible(boxes.shape[2], 4, "axis 2 of boxes and the number of coordinates")
        classes = scores.shape[2]
        if self.num_classes < 0 or (isinstance(classes, int) and classes < self.num_classes):
            raise RelationError(f"num_classes is {self.num_classes}, and scores have {classes} classes")
        if self.max_detections < 1:
            raise RelationError(f"max_detections must be 1 or more, not {self.max_detections}")
        batch = scores.shape[0]
        each = TensorType((batch, self.max_detections), "float32")
        corners = TensorType((batch, self.max_detections, 4), "float32")
        return TupleType((corners, each, each, TensorType((batch,), "int32")))

    def select(self, boxes: np.ndarray, scores: np.ndarray) -> list[int]:
        """The chosen boxes of one class, by falling score."""
        order = np.argsort(-scores, kind="stable")
        order = order[scores[order] >= np.float32(self.score_threshold)]
        alive = np.ones(len(order), bool)
        chosen: list[int] = []
        for j, mine in enumerate(order):
            if len(chosen) >= self.max_detections_per_class:
                break
            if alive[j]:
                chosen.append(int(mine))
                alive[j + 1 :] &= ~(_overlap(boxes[mine], boxes[order[j + 1 :]]) > np.float32(self.iou_threshold))
        return chosen

    def evaluate(self, boxes: np.ndarray, scores: np.ndarray) -> Any:
        batch, _, classes = scores.shape
        most, background = self.max_detections, classes - self.num_classes
        corners, labels = np.zeros((batch, most, 4), np.float32), np.zeros((batch, most), np.float32)
        best_scores, count = np.zeros((batch, most), np.float32), np.zeros(batch, np.int32)
        for b in range(batch):
            detections = [
                (c, n) for c in range(self.num_classes) for n in self.select(boxes[b], scores[b, :, c + background])
            ]
            detections.sort(key=lambda detection: -scores[b, detection[1], detection[0] + background])
            for i, (c, n) in enumerate(detections[:most]):
                corners[b, i], labels[b, i], best_scores[b, i] = boxes[b, n], c, scores[b, n, c + background]
            count[b] = min(len(detections), most)
        return corners, labels, best_scores, count

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        scores = inputs[1]
        batch, count, classes = scores.shape
        most, background = self.max_detections, classes - self.num_classes

        def program(ib: Any, ins: Any, outs: Any) -> None:
            x, s = ins
            sorted_, merged = (ib.allocate((count,), "int32", name=n) for n in ("sorted", "merged"))
            removed = ib.allocate((count,), "int32", name="gone")
            best = [
                ib.allocate((most,), d, name=n) for d, n in (("int32", "box"), ("int32", "label"), ("float32", "score"))
            ]
            total = ib.local("int32", 0)
            with ib.for_(batch, name="b") as b:
                total.set(0)
                with ib.for_(self.num_classes, name="c") as c:
                    column = ib.let(c + background)
                    order = merge_sort(
                        ib, count, sorted_, merged, lambda p, q: outranks(s[b, p, column], s[b, q, column])
                    )
                    with ib.for_(count) as j:
                        low = te.logical_not(s[b, order[j], column] >= te.const(self.score_threshold, "float32"))
                        ib.store(removed, (j,), te.cast(low, "int32"))
                    chosen = ib.local("int32", 0)
                    limit = te.const(max(0, min(self.max_detections_per_class, (1 << 31) - 1)), "int32")
                    with ib.for_(count) as j, ib.if_(te.all(removed[j].equal(0), chosen() < limit)):
                        mine = ib.let(order[j])
                        chosen.set(chosen() + 1)
                        _insert(ib, best, total, most, (mine, c, ib.let(s[b, mine, column])))
                        with ib.for_(j + 1, count) as k:
                            other = ib.let(order[k])
                            with ib.if_(removed[k].equal(0)):
                                near = _overlap_of(ib, lambda n: x[b, mine, n], lambda n: x[b, other, n])
                                with ib.if_(near > te.const(self.iou_threshold, "float32")):
                                    ib.store(removed, (k,), 1)
                zero = te.const(0, "float32")
                with ib.for_(most) as j:
                    for k in range(4):
                        ib.store(outs[0], (b, j, k), zero)
                    ib.store(outs[1], (b, j), zero)
                    ib.store(outs[2], (b, j), zero)
                with ib.for_(total()) as j:
                    for k in range(4):
                        ib.store(outs[0], (b, j, k), x[b, best[0][j], k])
                    ib.store(outs[1], (b, j), te.cast(best[1][j], "float32"))
                    ib.store(outs[2], (b, j), best[2][j])
                ib.store(outs[3], (b,), total())

        types = out_type.fields
        return te.extern(
            [t.shape for t in types],
            inputs,
            program,
            dtype=[t.dtype for t in types],
            name="regular_non_max_suppression",
        )


def _insert(ib: Any, best: Sequence[Any], total: Any, most: int, entry: Sequence[Any]) -> None:
    """Writes code that puts an entry behind all that score as much or more, in lists that hold `most` entries."""
    scores = best[-1]
    with ib.if_(te.any(total() < most, scores[most - 1] < entry[-1])):
        place = ib.local("int32", te.minimum(total(), most - 1))
        before = lambda: te.maximum(place() - 1, 0)  # noqa: E731
        with ib.while_(te.all(place() > 0, scores[before()] < entry[-1])):
            for column in best:
                ib.store(column, (place(),), column[before()])
            place.set(place() - 1)
        for column, value in zip(best, entry, strict=True):
            ib.store(column, (place(),), value)
        total.set(te.minimum(total() + 1, most))


def _overlap(box: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Intersection over union of one box with each of `others` (n, 4); none where either has no area."""
    area = (box[2] - box[0]) * (box[3] - box[1])
    areas = (others[:, 2] - others[:, 0]) * (others[:, 3] - others[:, 1])
    sides = np.maximum(np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2]), np.float32(0))
    both = sides[:, 0] * sides[:, 1]
    return np.divide(both, area + areas - both, out=np.zeros_like(both), where=(areas > 0) & (area > 0))


def _overlap_of(ib: Any, mine: Any, other: Any) -> Any:
    """`_overlap` as an expression; `mine(k)` and `other(k)` give coordinate k of a box."""
    zero = te.const(0, "float32")
    area, areas = (ib.let((box(2) - box(0)) * (box(3) - box(1))) for box in (mine, other))
    sides = [te.max2(te.min2(mine(k + 2), other(k + 2)) - te.max2(mine(k), other(k)), zero) for k in range(2)]
    both = ib.let(sides[0] * sides[1])
    return te.if_then_else(te.all(area > zero, areas > zero), both / (area + areas - both), zero)
