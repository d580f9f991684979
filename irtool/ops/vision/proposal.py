"""`vision.proposal`: regions that a region proposal network (Faster R-CNN) proposes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..shapes import mul, require_compatible, require_rank, tensor
from ..sorting import merge_sort, outranks


def anchor_box(ratio: float, scale: float, size: int) -> tuple[float, float, float, float]:
    """The anchor (x1, y1, x2, y2) of that aspect ratio and scale round a cell of `size` pixels."""
    centre = 0.5 * (size - 1.0)
    width = math.floor(math.sqrt(math.floor(size * size / ratio)) + 0.5) * scale
    height = math.floor(width / scale * ratio + 0.5) * scale
    return (
        centre - 0.5 * (width - 1.0),
        centre - 0.5 * (height - 1.0),
        centre + 0.5 * (width - 1.0),
        centre + 0.5 * (height - 1.0),
    )


def _larger(a: Any, b: Any) -> Any:
    """The larger of `a` and `b`, or `b` if either is NaN, as in C."""
    return np.where(a > b, a, b)


def _smaller(a: Any, b: Any) -> Any:
    """`a` where it is smaller, else `b`."""
    return np.where(a < b, a, b)


def _cells(count: Any, most: int) -> int:
    """The whole part of a number of cells, within `0 … most`; 0 of NaN."""
    return int(min(count, most)) if count > 0 else 0


@operator(
    "vision.proposal",
    "cls_prob",
    "bbox_pred",
    "im_info",
    pattern=Pattern.OPAQUE,
    attrs="ProposalAttrs",
    level=5,
    declares_attrs=False,
)
@dataclass(frozen=True)
class Proposal(Operator):
    """For each image `rpn_post_nms_top_n` regions (image, x1, y1, x2, y2), the best after suppression, repeated
    from the first if there are fewer.

    `cls_prob` is (n, 2 * anchors, h, w), the second half being the scores of foreground; `bbox_pred` (n, 4 * anchors, h,
    w); `im_info` (height, width, scale) of each image. Boxes smaller than `rpn_min_size` (times scale) score -1.
    """

    no_gradient = "it picks and drops boxes"

    scales: tuple[float, ...] = (4.0, 8.0, 16.0, 32.0)
    ratios: tuple[float, ...] = (0.5, 1.0, 2.0)
    feature_stride: int = 16
    threshold: float = 0.7
    rpn_pre_nms_top_n: int = 6000
    rpn_post_nms_top_n: int = 300
    rpn_min_size: int = 16
    iou_loss: bool = False

    one_dtype = ("cls_prob", "result")

    @property
    def anchors(self) -> list[tuple[float, float, float, float]]:
        """The anchor boxes of one cell, all scales of the first ratio first."""
        return [anchor_box(r, s, self.feature_stride) for r in self.ratios for s in self.scales]

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """`(batch * rpn_post_nms_top_n, 5)` of the scores' dtype, from scores `(batch, 2 k, h, w)` and boxes `(batch, 4
        k, h, w)`.
        """
        prob, pred, info = (tensor(t, n) for t, n in zip(types, self.arguments, strict=True))
        if prob is None or pred is None or info is None:
            return None
        require_rank(prob, 4, "cls_prob")
        require_rank(pred, 4, "bbox_pred")
        require_rank(info, 2, "im_info")
        require_compatible(info.shape[1], 3, "axis 1 of im_info and its length (height, width, scale)")
        count = len(self.scales) * len(self.ratios)
        if not count:
            raise RelationError("scales and ratios must not be empty")
        for value in (*self.scales, *self.ratios):
            if not 0 < value < math.inf:
                raise RelationError(f"scales and ratios must be positive and finite, not {value}")
        if not 0 < self.feature_stride < 2**31 or self.rpn_post_nms_top_n < 0:
            raise RelationError("feature_stride must be positive, and rpn_post_nms_top_n must not be negative")
        require_compatible(prob.shape[1], 2 * count, "axis 1 of cls_prob and twice the number of anchors")
        require_compatible(pred.shape[1], 4 * count, "axis 1 of bbox_pred and four times the number of anchors")
        for axis, name in ((0, "the batch"), (2, "the height"), (3, "the width")):
            require_compatible(pred.shape[axis], prob.shape[axis], f"{name} of bbox_pred and that of cls_prob")
        require_compatible(info.shape[0], prob.shape[0], "axis 0 of im_info and the batch")
        return TensorType((mul(prob.shape[0], self.rpn_post_nms_top_n), 5), prob.dtype)

    def kept_before(self, boxes: int) -> int:
        """The number of best boxes that go into suppression."""
        return min(self.rpn_pre_nms_top_n, boxes) if self.rpn_pre_nms_top_n > 0 else boxes

    def evaluate(self, prob: Any, pred: Any, info: Any) -> Any:
        out = np.zeros((prob.shape[0] * self.rpn_post_nms_top_n, 5), prob.dtype)
        most = self.rpn_post_nms_top_n
        for b in range(prob.shape[0]):
            boxes, scores = self._boxes(
                prob[b].astype(np.float32), pred[b].astype(np.float32), info[b].astype(np.float32)
            )
            order = np.argsort(-scores, kind="stable")[: self.kept_before(len(scores))]
            chosen = boxes[order][self._suppress(boxes[order])]
            if len(chosen):
                out[b * most : (b + 1) * most, 0] = b
                out[b * most : (b + 1) * most, 1:] = chosen[np.arange(most) % len(chosen)]
        return out

    def _boxes(self, prob: Any, pred: Any, info: Any) -> tuple[Any, Any]:
        """All boxes (cells by anchors, 4) of one image and their scores, cell by cell."""
        height, width = prob.shape[1:]
        im_height, im_width, scale = info
        count = len(self.anchors)
        anchors = np.array(self.anchors, np.float32)
        shift_x = (np.arange(width) * self.feature_stride).astype(np.float32)[None, :, None]
        shift_y = (np.arange(height) * self.feature_stride).astype(np.float32)[:, None, None]
        x1, y1, x2, y2 = (anchors[:, k] + (shift_x if k % 2 == 0 else shift_y) for k in range(4))
        shape = (height, width, count)
        x1, y1, x2, y2 = (np.broadcast_to(v, shape) for v in (x1, y1, x2, y2))
        deltas = pred.reshape(count, 4, height, width).transpose(1, 2, 3, 0)
        one, half = np.float32(1), np.float32(0.5)
        if self.iou_loss:
            corners = [v + d for v, d in zip((x1, y1, x2, y2), deltas, strict=True)]
        else:
            w, h = x2 - x1 + one, y2 - y1 + one
            cx, cy = x1 + half * (w - one), y1 + half * (h - one)
            px, py = deltas[0] * w + cx, deltas[1] * h + cy
            pw, ph = np.exp(deltas[2]) * w, np.exp(deltas[3]) * h
            corners = [
                px - half * (pw - one),
                py - half * (ph - one),
                px + half * (pw - one),
                py + half * (ph - one),
            ]
        limits = (im_width - one, im_height - one) * 2
        x1, y1, x2, y2 = (_larger(_smaller(v, m), np.float32(0)) for v, m in zip(corners, limits, strict=True))
        real_height, real_width = (
            _cells(n / np.float32(self.feature_stride), most) for n, most in zip(info, (height, width))
        )
        least = scale * np.float32(self.rpn_min_size)
        scores = prob[count:].transpose(1, 2, 0).copy()
        scores[real_height:] = -1
        scores[:, real_width:] = -1
        small = (x2 - x1 + one < least) | (y2 - y1 + one < least)
        grow = np.where(small, least / np.float32(2), np.float32(0))
        scores[small | np.isnan(scores)] = -1
        boxes = np.stack([x1 - grow, y1 - grow, x2 + grow, y2 + grow], -1)
        return boxes.reshape(-1, 4), scores.reshape(-1)

    def _suppress(self, boxes: Any) -> Any:
        """The sorted boxes that overlap no better remaining one."""
        stays = np.ones(len(boxes), bool)
        one = np.float32(1)
        areas = (boxes[:, 2] - boxes[:, 0] + one) * (boxes[:, 3] - boxes[:, 1] + one)
        for k in range(len(boxes) - 1):
            if not stays[k]:
                continue
            rest = boxes[k + 1 :]
            w = _larger(np.float32(0), _smaller(boxes[k, 2], rest[:, 2]) - _larger(boxes[k, 0], rest[:, 0]) + one)
            h = _larger(np.float32(0), _smaller(boxes[k, 3], rest[:, 3]) - _larger(boxes[k, 1], rest[:, 1]) + one)
            both = w * h
            stays[k + 1 :] &= ~(both / (areas[k] + areas[k + 1 :] - both) > np.float32(self.threshold))
        return stays

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        prob, _pred, _info = inputs
        batch, _, height, width = prob.shape
        total = height * width * len(self.anchors)
        candidates = self.kept_before(total)

        def program(ib: Any, ins: Any, outs: Any) -> None:
            (out,) = outs
            boxes = ib.allocate((total, 4), "float32", name="boxes")
            scores = ib.allocate((total,), "float32", name="scores")
            sorted_, merged = (ib.allocate((total,), "int32", name=n) for n in ("sorted", "merged"))
            removed = ib.allocate((candidates,), "int32", name="gone")
            with ib.for_(batch, name="b") as b:
                with ib.for_(total) as j:
                    corners, score = self._box(b, j, ins)
                    for n, c in enumerate(corners):
                        ib.store(boxes, (j, n), c)
                    ib.store(scores, (j,), score)
                order = merge_sort(ib, total, sorted_, merged, lambda x, y: outranks(scores[x], scores[y]))
                self._mark_overlapping(ib, boxes, order, removed, candidates)
                self._write(ib, b, boxes, order, removed, candidates, out)

        return te.extern(out_type.shape, inputs, program, dtype=out_type.dtype, name="proposal")

    def _box(self, b: Any, j: Any, ins: Any) -> tuple[list[Any], Any]:
        """Corners and score of box j of image b, as expressions."""
        p, d, im = ins
        _, _, height, width = p.shape
        anchors = self.anchors
        count = len(anchors)
        k, cell = te.floormod(j, count), te.floordiv(j, count)
        x, y = te.floormod(cell, width), te.floordiv(cell, width)
        corner = [_f32(v) for v in anchors[0]]
        for n in range(1, count):
            corner = [te.select(k.equal(n), _f32(v), c) for v, c in zip(anchors[n], corner, strict=True)]
        shift = [te.cast(v * self.feature_stride, "float32") for v in (x, y)] * 2
        corner = [c + s for c, s in zip(corner, shift, strict=True)]
        moved = self._moved(corner, [te.cast(d[b, k * 4 + n, y, x], "float32") for n in range(4)])
        limit = [te.cast(im[b, n], "float32") - _f32(1) for n in (1, 0)] * 2
        moved = [te.max2(te.min2(c, m), _f32(0)) for c, m in zip(moved, limit, strict=True)]
        least = te.cast(im[b, 2], "float32") * _f32(self.rpn_min_size)
        small = te.any(moved[2] - moved[0] + _f32(1) < least, moved[3] - moved[1] + _f32(1) < least)
        real = [
            te.clip_index(te.cast(im[b, n], "float32") / _f32(self.feature_stride), most + 1)
            for n, most in ((0, height), (1, width))
        ]
        raw_score = te.cast(p[b, count + k, y, x], "float32")
        score = te.select(te.any(small, y >= real[0], x >= real[1], raw_score != raw_score), _f32(-1), raw_score)
        grow = te.select(small, least / _f32(2), _f32(0))
        return [moved[0] - grow, moved[1] - grow, moved[2] + grow, moved[3] + grow], score

    def _moved(self, corner: Sequence[Any], delta: Sequence[Any]) -> list[Any]:
        """Corners after regression: moved each, or by shifts of the centre and logarithms of the extents."""
        if self.iou_loss:
            return [c + e for c, e in zip(corner, delta, strict=True)]
        low, high = [], []
        for n in range(2):
            extent = corner[n + 2] - corner[n] + _f32(1)
            centre = delta[n] * extent + (corner[n] + _f32(0.5) * (extent - _f32(1)))
            reach = _f32(0.5) * (te.exp(delta[n + 2]) * extent - _f32(1))
            low.append(centre - reach)
            high.append(centre + reach)
        return low + high

    def _mark_overlapping(self, ib: Any, boxes: Any, order: Any, removed: Any, candidates: int) -> None:
        """Writes the loops of `_suppress`: `removed` is 1 for each sorted box that overlaps a better one that stays."""
        with ib.for_(candidates) as j:
            ib.store(removed, (j,), 0)
        stay = ib.local("int32", 0)
        with ib.for_(candidates) as j, ib.if_(removed[j].equal(0)):
            stay.set(stay() + 1)
            mine = ib.let(order[j])
            with ib.for_(j + 1, candidates) as k:
                other = ib.let(order[k])

                def edge(n: int) -> Any:
                    low = te.max2(boxes[mine, n], boxes[other, n])
                    return te.max2(_f32(0), te.min2(boxes[mine, n + 2], boxes[other, n + 2]) - low + _f32(1))

                def area(of: Any) -> Any:
                    w = boxes[of, 2] - boxes[of, 0] + _f32(1)
                    return w * (boxes[of, 3] - boxes[of, 1] + _f32(1))

                both = ib.let(edge(0) * edge(1))
                with ib.if_(both / (area(mine) + area(other) - both) > _f32(self.threshold)):
                    ib.store(removed, (k,), 1)

    def _write(self, ib: Any, b: Any, boxes: Any, order: Any, removed: Any, candidates: int, out: Any) -> None:
        """Writes the loop that stores the boxes that stay, `(image, x1, y1, x2, y2)` each."""
        most = self.rpn_post_nms_top_n
        count = ib.local("int32", 0)
        with ib.for_(candidates) as j, ib.if_(te.all(removed[j].equal(0), count() < most)):
            row = ib.let(b * most + count())
            ib.store(out, (row, 0), te.cast(b, "float32"))
            for n in range(4):
                ib.store(out, (row, n + 1), boxes[order[j], n])
            count.set(count() + 1)
        # There is always a box that stays: the first. Regions are repeated until there are enough.
        with ib.for_(most) as j, ib.if_(j >= count()):
            for n in range(5):
                ib.store(out, (b * most + j, n), out[b * most + te.floormod(j, te.max2(count(), 1)), n])


def _f32(value: float) -> Any:
    return te.const(value, "float32")
