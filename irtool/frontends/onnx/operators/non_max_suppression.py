"""Suppression of boxes that overlap better ones."""

from __future__ import annotations

from ....deferred import np
from ....ir import Expr, TupleGetItem
from ..arithmetic import add, cast, multiply, scalar, subtract
from ..memory_limit import filled
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..tuples import concatenate
from ..value import Value, apply


@onnx_operator("NonMaxSuppression")
class NonMaxSuppression(OnnxOperator):
    """Indices (image, class, box) of boxes by falling score, without those that overlap a better one of their class.

    Relay's operator takes overlaps from a threshold on, and only boxes with scores above 0: the threshold is moved to the next
    number, and scores that may be negative are replaced by their ranks.
    """

    @since(10, 11)
    def suppress(
        self,
        boxes: Value,
        scores: Value,
        max_output_boxes_per_class: Value | None = None,
        iou_threshold: Value | None = None,
        score_threshold: Value | None = None,
        *,
        center_point_box: int = 0,
    ) -> Result:
        most = max_output_boxes_per_class
        if most is None or (most.known is not None and not (most.known > 0).any()):
            return Value.constant(filled((0, 3), 0, "no box", "int64"))
        if center_point_box:
            boxes = _corners(boxes)
        scores, least = _above_zero(scores, score_threshold)
        limit = cast(most, "int64").call("reshape", newshape=[])
        selection = apply(
            "vision.all_class_non_max_suppression",
            boxes,
            scores,
            limit,
            _next(iou_threshold).call("reshape", newshape=[]),
            least.call("reshape", newshape=[]),
            output_format="onnx",
        )
        rows, count = (Value.of(_field(selection.expr, k)) for k in range(2))
        if most.known is None:  # no box at all, where none may be given
            count = multiply(count, cast(limit.call("greater", scalar(0, "int64")), "int64"))
        end = concatenate([count, Value.constant(np.array([3], "int64"))], 0)
        zeros, ones = (Value.constant(filled(2, k, "an index", "int64")) for k in (0, 1))
        return rows.call("dyn.strided_slice", zeros, end, ones, begin=None, end=None, strides=None, axes=None)


def _field(e: Expr, k: int) -> Expr:
    return TupleGetItem(e, k)


def _corners(boxes: Value) -> Value:
    """Boxes by their centres, widths and heights as boxes by their corners, y first."""
    x, y, width, height = (boxes.call("take", Value.constant(np.array([k], "int32")), axis=2) for k in range(4))
    halves = multiply(width, 0.5), multiply(height, 0.5)
    return concatenate([subtract(y, halves[1]), subtract(x, halves[0]), add(y, halves[1]), add(x, halves[0])], 2)


def _above_zero(scores: Value, threshold: Value | None) -> tuple[Value, Value]:
    """Scores above 0 and a threshold for them that choose and order the same boxes."""
    known = None if threshold is None else threshold.known
    if threshold is not None and known is not None and (known >= 0).all():
        return scores, threshold
    scores.require_rank(3, "the scores")
    order = scores.call("argsort", axis=2, is_ascend=False, dtype="int32")
    best = order.call("argsort", axis=2, is_ascend=True, dtype="int32")
    ranks = subtract(_extent(scores, 2), cast(best, scores.dtype))
    if threshold is not None:
        chosen = scores.call("greater", threshold.call("reshape", newshape=[]))
        ranks = apply("where", chosen, ranks, scalar(0, ranks.dtype))
    return ranks, scalar(0, scores.dtype)


def _extent(x: Value, axis: int) -> Value:
    """An extent as a number of the tensor's own type, computed while the program runs where it is not known before."""
    d = x.shape[axis]
    if isinstance(d, int):
        return scalar(d, x.dtype)
    index = Value.constant(np.array(axis, "int32"))
    return cast(x.call("shape_of", dtype="int32").call("take", index, axis=0), x.dtype)


def _next(threshold: Value | None) -> Value:
    """The next number above a threshold that is not negative."""
    if threshold is None or threshold.known is not None:
        value = np.float32(0) if threshold is None or threshold.known is None else threshold.known.astype("float32")
        return Value.constant(np.nextafter(value, np.float32(np.inf)), "float32")
    bits = threshold.call("maximum", scalar(0, threshold.dtype)).call("reinterpret", dtype="int32")
    return add(bits, 1).call("reinterpret", dtype="float32")
