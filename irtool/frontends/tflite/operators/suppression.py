"""Boxes that do not overlap with better ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ....deferred import np
from ...onnx.arithmetic import cast
from ...onnx.loops import LoopSpec, Turn, build_loop
from ...onnx.value import Value, apply
from ..operator import Operand, Result, TfliteOperator, tflite_operator
from ..room import require_room


@tflite_operator("NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5")
class NonMaxSuppression(TfliteOperator):
    """The best boxes `(y1, x1, y2, x2)` one after the other: each takes away those that overlap with it, or part of their scores."""

    folds: ClassVar[bool] = False
    types: ClassVar[tuple[str, ...]] = ("float32",)

    def convert(
        self,
        boxes: Operand,
        scores: Operand,
        most: Operand,
        overlap: Operand,
        least: Operand,
        sigma: Operand | None = None,
    ) -> Result:
        count = most.value.number("the number of boxes")
        soft = float(sigma.array("the sigma").reshape(())) if sigma is not None else 0.0
        if boxes.rank != 2 or boxes.shape[1] != 4 or count < 0:
            raise self.damaged(f"boxes of the shape {boxes.shape}, {count} at most")
        require_room(boxes.shape[0], what="the places of boxes")
        corners = [boxes.call("take", Value.constant(np.int32(k)), axis=1, mode="fast") for k in range(4)]
        top, bottom = _ordered(corners[0], corners[2])
        left, right = _ordered(corners[1], corners[3])
        area = apply("multiply", apply("subtract", bottom, top), apply("subtract", right, left))
        threshold, lowest = (v.value if not v.rank else v.call("reshape", newshape=[]) for v in (overlap, least))
        removed = Value.constant(np.float32(-np.inf))

        def turn(number: Value, go_on: Value | None, handed: Sequence[Value]) -> Turn:
            (rest,) = handed
            best = rest.call("argmax", axis=[0])
            score = rest.call("take", best, axis=0, mode="fast")
            valid = apply("greater", score, lowest)
            edges = [v.call("take", best, axis=0, mode="fast") for v in (top, left, bottom, right, area)]
            height = apply("subtract", apply("minimum", bottom, edges[2]), apply("maximum", top, edges[0]))
            width = apply("subtract", apply("minimum", right, edges[3]), apply("maximum", left, edges[1]))
            zero = Value.constant(np.float32(0))
            common = apply("multiply", apply("maximum", height, zero), apply("maximum", width, zero))
            union = apply("subtract", apply("add", area, edges[4]), common)
            share = apply("where", apply("greater", union, zero), apply("divide", common, union), zero)
            if soft > 0:
                factor = apply("multiply", apply("multiply", share, share), Value.constant(np.float32(-0.5 / soft)))
                less = apply("multiply", rest, factor.call("exp"))
                after = apply("where", apply("greater", share, threshold), removed, less)
            else:
                after = apply("where", apply("greater", share, threshold), removed, rest)
            own = apply("equal", Value.constant(np.arange(boxes.shape[0], dtype=best.dtype)), best)
            after = apply("where", own, removed, after)
            after = apply("where", valid, after, apply("full_like", rest, removed))
            index = apply("where", valid, cast(best, "int32"), Value.constant(np.int32(0)))
            result = apply("where", valid, score, zero)
            return Turn((after,), (index, result, cast(valid, "int32")), None)

        limit = Value.constant(np.int64(count))
        _, indices, results, valid = build_loop(
            self.graph.functions, LoopSpec(limit, None, (scores.value,), turn, (False,) * 3)
        )
        total = valid.call("sum", axis=[0])
        return [indices, total] if self.node.op_type.endswith("V4") else [indices, results, total]


def _ordered(a: Value, b: Value) -> tuple[Value, Value]:
    """The smaller and the larger of two."""
    return apply("minimum", a, b), apply("maximum", a, b)
