"""Boxes whose score is high enough: `vision.get_valid_counts`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, TupleType, Type
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..conversion import convert
from ..shapes import require_rank, require_scalar, tensor


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

    differentiable = False

    score_threshold: float | None
    id_index: int = 0
    score_index: int = 1

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """Data `(batch, n, m)` give a tuple of int32 `(batch)`, the data's type, and int32 `(batch, n)`."""
        data = tensor(types[0], "data")
        if data is None:
            return None
        require_rank(data, 3, "data")
        if data.dtype.startswith(("uint", "bool")):
            raise RelationError(f"removed boxes become -1, which {data.dtype} does not hold")
        require_scalar(tensor(types[1], "score_threshold"), "score_threshold")
        for index, what in ((self.score_index, "score_index"), (max(self.id_index, 0), "id_index")):
            if isinstance(data.shape[2], int) and not 0 <= index < data.shape[2]:
                raise RelationError(f"{what} {index} is out of range for boxes of {data.shape[2]} numbers")
        count = TensorType((data.shape[0],), "int32")
        return TupleType((count, data, TensorType(data.shape[:2], "int32")))

    def evaluate(self, data: Any, threshold: Any) -> Any:
        is_valid = data[:, :, self.score_index] > convert(threshold, data.dtype).reshape(())
        if self.id_index >= 0:
            is_valid &= data[:, :, self.id_index] >= 0
        count = is_valid.sum(1).astype(np.int32)
        boxes = np.full_like(data, -1)
        where = np.full(data.shape[:2], -1, np.int32)
        for b, n in enumerate(count):
            chosen = np.flatnonzero(is_valid[b])
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
                    is_valid = x[b, j, self.score_index] > te.cast(threshold[()], data.dtype)
                    if self.id_index >= 0:
                        is_valid = te.all(is_valid, x[b, j, self.id_index] >= te.const(0, data.dtype))
                    with ib.if_(is_valid):
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
