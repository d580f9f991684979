"""Anchors of single-shot detectors, and boxes from their predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, TupleType, Type
from ...ir.attributes import since
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..conversion import convert
from ..extremes import limited, limited_expression
from ..relations import require_dtype
from ..shapes import mul, require_compatible, require_floats, require_rank, tensor


@operator("vision.multibox_prior", "data", pattern=Pattern.OPAQUE, attrs="MultiBoxPriorAttrs", level=5)
@dataclass(frozen=True)
class MultiBoxPrior(Operator):
    """Anchor boxes (x1, y1, x2, y2 in 0 … 1) centred on each pixel of `data`, `(1, h * w * k, 4)`.

    There are k = len(sizes) + len(ratios) - 1 boxes per pixel: each size at the first ratio, then the first size at each
    other ratio. `steps` are the distances of the centres (-1: one pixel), `offsets` where in a pixel they lie.
    """

    sizes: tuple[float, ...] = (1.0,)
    ratios: tuple[float, ...] = (1.0,)
    steps: tuple[float, ...] = (-1.0, -1.0)
    offsets: tuple[float, ...] = (0.5, 0.5)
    clip: bool = False

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """`(1, height * width * boxes, 4)` of the data's dtype, boxes being sizes and ratios less one."""
        data = tensor(types[0])
        if data is None:
            return None
        require_rank(data, 4, "data")
        if not self.sizes or not self.ratios or len(self.steps) != 2 or len(self.offsets) != 2:
            raise RelationError("sizes and ratios must not be empty, steps and offsets have two elements each")
        per_pixel = len(self.sizes) + len(self.ratios) - 1
        return TensorType((1, mul(mul(data.shape[2], data.shape[3]), per_pixel), 4), data.dtype)

    def half_extents(self, height: int, width: int) -> list[tuple[float, float]]:
        """Half the width and half the height of each box of a pixel, in float32."""
        first = np.float32(self.sizes[0])
        boxes = [
            (
                np.float32(np.float32(s) * np.float32(height)) / np.float32(width) / np.float32(2),
                np.float32(s) / np.float32(2),
            )
            for s in self.sizes
        ]
        for r in self.ratios[1:]:
            root = np.sqrt(np.float32(r))
            boxes.append(
                (
                    np.float32(first * np.float32(height)) / np.float32(width) * root / np.float32(2),
                    first / root / np.float32(2),
                )
            )
        return [(float(w), float(h)) for w, h in boxes]

    def step(self, axis: int, extent: int) -> float:
        """Distance of neighbouring centres."""
        return float(np.float32(self.steps[axis]) if self.steps[axis] > 0 else np.float32(1) / np.float32(extent))

    def evaluate(self, data: Any) -> Any:
        height, width = data.shape[2:]
        y = (np.arange(height, dtype=np.float32) + np.float32(self.offsets[0])) * np.float32(self.step(0, height))
        x = (np.arange(width, dtype=np.float32) + np.float32(self.offsets[1])) * np.float32(self.step(1, width))
        half = np.array(self.half_extents(height, width), np.float32)
        x, y = np.broadcast_arrays(x[None, :, None], y[:, None, None])
        boxes = np.stack([x - half[:, 0], y - half[:, 1], x + half[:, 0], y + half[:, 1]], -1)
        boxes = boxes.reshape(1, -1, 4)
        if self.clip:
            boxes = limited(boxes, np.float32(0), np.float32(1))
        return convert(boxes, data.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        height, width = inputs[0].shape[2:]
        half = self.half_extents(height, width)
        k = len(half)

        def f32(value: float) -> Any:
            return te.const(value, "float32")

        def element(_: Any, j: Any, corner: Any) -> Any:
            box, pixel = te.floormod(j, k), te.floordiv(j, k)
            y = (te.cast(te.floordiv(pixel, width), "float32") + f32(self.offsets[0])) * f32(self.step(0, height))
            x = (te.cast(te.floormod(pixel, width), "float32") + f32(self.offsets[1])) * f32(self.step(1, width))
            w, h = f32(half[0][0]), f32(half[0][1])
            for n in range(1, k):
                w, h = te.select(box.equal(n), f32(half[n][0]), w), te.select(box.equal(n), f32(half[n][1]), h)
            value = te.select(
                corner < 2,
                te.select(corner.equal(0), x - w, y - h),
                te.select(corner.equal(2), x + w, y + h),
            )
            if self.clip:
                value = limited_expression(value, f32(0), f32(1))
            return te.cast(value, out_type.dtype)

        return te.compute(out_type.shape, element, name="multibox_prior", tag="opaque")


@operator(
    "vision.multibox_transform_loc",
    "cls_prob",
    "loc_pred",
    "anchor",
    pattern=Pattern.OPAQUE,
    attrs="MultiBoxTransformLocAttrs",
    level=5,
)
@dataclass(frozen=True)
class MultiBoxTransformLoc(Operator):
    """Detections (class, score, x1, y1, x2, y2) of the anchors whose best class is not the background, and their number.

    `cls_prob` is (batch, classes, anchors), class 0 being the background; `loc_pred` (batch, 4 * anchors) moves and
    scales the anchors, each coordinate times its variance. Detections below `threshold` are dropped; what is behind the
    last one is zero. With `keep_background` class 0 is a class like any other, and classes keep their numbers.
    """

    no_gradient = "it picks and drops boxes"

    clip: bool = True
    threshold: float = 0.01
    # TVM's defaults are single precision: 0.1 written out is another number, and is printed.
    variances: tuple[float, ...] = (0.10000000149011612, 0.10000000149011612, 0.20000000298023224, 0.20000000298023224)
    keep_background: bool = field(default=False, metadata=since("0.14"))

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """A tuple of `(batch, anchors, 6)` of the probabilities' dtype and int32 `(batch)`."""
        prob, loc, anchor = tensor(types[0], "cls_prob"), tensor(types[1], "loc_pred"), tensor(types[2], "anchor")
        if prob is None or loc is None or anchor is None:
            return None
        require_rank(prob, 3, "cls_prob")
        require_rank(loc, 2, "loc_pred")
        require_rank(anchor, 3, "anchor")
        require_floats(loc, "loc_pred")
        require_dtype(loc, anchor)
        require_dtype(loc, prob)
        count = anchor.shape[1]
        require_compatible(prob.shape[2], count, "the numbers of anchors of cls_prob and anchor")
        require_compatible(
            mul(prob.shape[2], 4), loc.shape[1], "four times the number of anchors and axis 1 of loc_pred"
        )
        require_compatible(prob.shape[0], loc.shape[0], "the batches of cls_prob and loc_pred")
        reporter.require_elements(anchor.shape[:1], (), f"there are no anchors in {anchor}")
        require_compatible(anchor.shape[2], 4, "axis 2 of anchor and the number of coordinates")
        reporter.require_elements((count,), (), "there must be at least one anchor")
        if len(self.variances) != 4:
            raise RelationError(f"variances must be 4 numbers, not {len(self.variances)}")
        boxes = TensorType((prob.shape[0], count, 6), prob.dtype)
        return TupleType((boxes, TensorType((prob.shape[0],), "int32")))

    def evaluate(self, prob: Any, loc: Any, anchor: Any) -> Any:
        batch, _, anchors = prob.shape
        dtype = loc.dtype
        out = np.zeros((batch, anchors, 6), prob.dtype)
        count = np.zeros(batch, np.int32)
        foreground = prob if self.keep_background else prob[:, 1:]
        left, top, right, bottom = np.moveaxis(anchor[0], -1, 0)
        width, height = right - left, bottom - top
        x, y = (left + right) / dtype.type(2), (top + bottom) / dtype.type(2)
        vx, vy, vw, vh = (dtype.type(v) for v in self.variances)
        for b in range(batch):
            if not foreground.shape[1]:
                continue
            numbers = np.where(np.isnan(foreground[b]), -1, foreground[b])  # a class with a NaN score does not count
            best = numbers.argmax(0)
            score = np.take_along_axis(numbers, best[None], 0)[0]
            is_valid = (score > -1) & (score >= self.threshold)
            px, py, pw, ph = loc[b].reshape(anchors, 4).T
            cx, cy = px * vx * width + x, py * vy * height + y
            w = np.exp(pw * vw) * width / dtype.type(2)
            h = np.exp(ph * vh) * height / dtype.type(2)
            corners = np.stack([cx - w, cy - h, cx + w, cy + h], -1)
            corners = limited(corners, dtype.type(0), dtype.type(1)) if self.clip else corners
            n = int(is_valid.sum())
            out[b, :n, 0] = best[is_valid]
            out[b, :n, 1] = score[is_valid]
            out[b, :n, 2:] = corners[is_valid]
            count[b] = n
        return out, count

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        prob, loc, _ = inputs
        batch, classes, anchors = prob.shape
        dtype = prob.dtype
        first = 0 if self.keep_background else 1

        def program(ib: Any, ins: Any, outs: Any) -> None:
            p, l, a = ins
            boxes, count = outs
            with ib.for_(batch, name="b") as b:
                n = ib.local("int32", 0)
                with ib.for_(anchors) as j, ib.for_(6) as k:
                    ib.store(boxes, (b, j, k), te.const(0, dtype))
                with ib.for_(anchors, name="j") as j:
                    score, best = ib.local(dtype, -1), ib.local("int32", 0)
                    with ib.for_(first, classes, name="k") as k, ib.if_(p[b, k, j] > score()):
                        best.set(k)
                        score.set(p[b, k, j])
                    with ib.if_(te.all(score() > te.const(-1, dtype), score() >= te.const(self.threshold, dtype))):
                        ib.store(boxes, (b, n(), 0), te.cast(best() - first, dtype))
                        ib.store(boxes, (b, n(), 1), score())
                        for axis in range(2):
                            low, high = a[0, j, axis], a[0, j, axis + 2]
                            extent = ib.let(high - low)
                            move, grow = (te.const(self.variances[v], loc.dtype) for v in (axis, axis + 2))
                            centre = ib.let(l[b, j * 4 + axis] * move * extent + (low + high) / 2.0)
                            half = ib.let(te.exp(l[b, j * 4 + axis + 2] * grow) * extent / 2.0)
                            for k, value in ((axis + 2, centre - half), (axis + 4, centre + half)):
                                zero, one = te.const(0, loc.dtype), te.const(1, loc.dtype)
                                ib.store(
                                    boxes,
                                    (b, n(), k),
                                    limited_expression(value, zero, one) if self.clip else value,
                                )
                        n.set(n() + 1)
                ib.store(count, (b,), n())

        shapes = [out_type.fields[0].shape, out_type.fields[1].shape]
        return te.extern(shapes, inputs, program, dtype=[dtype, "int32"], name="multibox_transform_loc")
