"""Elements that indices name, and sorting."""

from __future__ import annotations

import math
from typing import ClassVar

from ....deferred import np
from ....ir import TupleGetItem
from ...onnx.arithmetic import cast
from ...onnx.operators.distinct_slices import head
from ...onnx.value import Value, apply
from ..operator import Operand, Result, TfliteOperator, tflite_operator
from ..room import require_room


@tflite_operator("GATHER")
class Gather(TfliteOperator):
    """The slices along an axis that indices name."""

    def convert(self, x: Operand, indices: Operand, *, axis: int = 0, batch_dims: int = 0) -> Result:
        own = x.value.axis(axis)
        batch = batch_dims + indices.rank if batch_dims < 0 else batch_dims
        if not 0 <= batch <= min(own, indices.rank):
            raise self.damaged(f"batch_dims={batch_dims} of indices of {indices.rank} axes")
        return x.call("take", indices.value, axis=own, batch_dims=batch)


@tflite_operator("GATHER_ND")
class GatherNd(TfliteOperator):
    """The slices that rows of indices name."""

    def convert(self, x: Operand, indices: Operand) -> Result:
        if not indices.rank or indices.shape[-1] > x.rank:
            raise self.damaged(f"indices of the shape {indices.shape} in a tensor of {x.rank} axes")
        axes = [indices.rank - 1, *range(indices.rank - 1)]
        return x.call("gather_nd", indices.call("transpose", axes=axes))


@tflite_operator("EMBEDDING_LOOKUP")
class EmbeddingLookup(TfliteOperator):
    """Rows of a table; of integers with scales real numbers, where the output is of these."""

    def convert(self, ids: Operand, table: Operand) -> Result:
        if table.q is None or self.outputs[0].dtype == table.dtype:
            return table.call("take", ids.value, axis=0)
        from ..dequantized import dequantized

        return dequantized(table).call("take", ids.value, axis=0)


@tflite_operator("ONE_HOT")
class OneHot(TfliteOperator):
    """One number where an index points, another elsewhere."""

    def convert(self, indices: Operand, depth: Operand, on: Operand, off: Operand, *, axis: int = 0) -> Result:
        count = depth.value.number("the depth of ONE_HOT")
        require_room(count, what="the depth of ONE_HOT")
        scalars = [v.value if not v.rank else v.call("reshape", newshape=[]) for v in (on, off)]
        place = indices.value.axis(axis, rank=indices.rank + 1)
        hot = Value.constant(np.arange(count, dtype=indices.dtype))
        shape = [1] * (indices.rank + 1)
        shape[place] = count
        equal = apply("equal", indices.call("expand_dims", axis=place), hot.call("reshape", newshape=shape))
        return apply("where", equal, *scalars)


@tflite_operator("TOPK_V2")
class TopK(TfliteOperator):
    """The largest elements along the last axis, and their places."""

    def convert(self, x: Operand, k: Operand) -> Result:
        count = k.value.number("the k of TOPK_V2")
        if not 0 <= count <= (x.shape[-1] if x.rank else 0):
            raise self.damaged(f"the {count} largest of {x.shape}")
        top = x.call("topk", k=count, axis=-1, ret_type="both", is_ascend=False, dtype=self.outputs[1].dtype)
        return top.expr


@tflite_operator("ARG_MAX", "ARG_MIN")
class ArgMax(TfliteOperator):
    """The place of the first largest or smallest element along an axis."""

    def convert(self, x: Operand, axis: Operand, *, output_type: int = 0) -> Result:
        place = x.value.axis(axis.value.number("the axis of ARG_MAX"))
        y = x.call("argmax" if self.node.op_type == "ARG_MAX" else "argmin", axis=[place])
        return cast(y, self.outputs[0].dtype)


@tflite_operator("SCATTER_ND")
class ScatterNd(TfliteOperator):
    """Zeros, to which updates are added at the places that rows of indices name."""

    def convert(self, indices: Operand, updates: Operand, shape: Operand) -> Result:
        extents = list(shape.ints("the shape of SCATTER_ND"))
        zeros = apply("zeros", shape=extents, dtype=updates.dtype)
        axes = [indices.rank - 1, *range(indices.rank - 1)]
        return zeros.call("scatter_nd", indices.call("transpose", axes=axes), updates.value, mode="add")


@tflite_operator("SPARSE_TO_DENSE")
class SparseToDense(TfliteOperator):
    """One number everywhere, but for values at the places that indices name."""

    def convert(
        self, indices: Operand, shape: Operand, values: Operand, default: Operand, *, validate_indices: bool = False
    ) -> Result:
        extents = list(shape.ints("the shape of SPARSE_TO_DENSE"))
        count = 1 if indices.rank == 0 else indices.shape[0]
        rows = indices.call("reshape", newshape=[count, len(extents)])
        fill = default.value if not default.rank else default.call("reshape", newshape=[])
        base = apply("full", fill, shape=extents, dtype=values.dtype)
        flat = values.value if values.rank else values.call("broadcast_to", shape=[count])
        if flat.shape != (count,):
            flat = flat.call("broadcast_to", shape=[count])
        return base.call("scatter_nd", rows.call("transpose", axes=[1, 0]), flat, mode="update")


@tflite_operator("MATRIX_DIAG")
class MatrixDiag(TfliteOperator):
    """Matrices with rows as their diagonals, zero elsewhere."""

    def convert(self, x: Operand) -> Result:
        n = x.shape[-1]
        require_room(n, n, what="the diagonal")
        eye = Value.constant(np.eye(n, dtype=bool))
        rows = x.call("expand_dims", axis=x.rank)
        return apply("where", eye, rows, Value.constant(np.zeros((), x.dtype)))


@tflite_operator("MATRIX_SET_DIAG")
class MatrixSetDiag(TfliteOperator):
    """Matrices with other diagonals."""

    def convert(self, x: Operand, diagonal: Operand) -> Result:
        h, w = x.shape[-2:]
        n = min(h, w)
        require_room(h, w, what="the diagonal")
        rows = np.minimum(np.arange(h), n - 1)
        spread = diagonal.call("take", Value.constant(rows.astype(np.int32)), axis=diagonal.rank - 1)
        return apply("where", Value.constant(np.eye(h, w, dtype=bool)), spread.call("expand_dims", axis=-1), x.value)


@tflite_operator(
    "SEGMENT_SUM", "UNSORTED_SEGMENT_SUM", "UNSORTED_SEGMENT_MAX", "UNSORTED_SEGMENT_MIN", "UNSORTED_SEGMENT_PROD"
)
class Segments(TfliteOperator):
    """Sums, products or extremes of the slices with one number each; slices of negative numbers are left out."""

    types: ClassVar[tuple[str, ...]] = ("float32", "int32")

    def convert(self, x: Operand, ids: Operand, count: Operand | None = None) -> Result:
        if count is not None:
            n = count.value.number("the number of segments")
        else:
            known = ids.array("the segments of SEGMENT_SUM")
            n = int(known.max()) + 1 if known.size else 0
        require_room(n, what="the segments")
        name = self.node.op_type.rsplit("_", 1)[1]
        rows = math.prod(ids.shape)
        inner = list(x.shape[ids.rank :])
        data = x.call("reshape", newshape=[1, rows, *inner])
        flat = ids.call("reshape", newshape=[1, rows])
        wide = Value.constant(np.arange(n, dtype=ids.dtype).reshape(n, 1))
        inside = apply("equal", flat, wide).call("reshape", newshape=[n, rows] + [1] * len(inner))
        info = np.finfo if x.dtype == "float32" else np.iinfo
        neutral = {"SUM": 0, "PROD": 1, "MAX": info(x.dtype).min, "MIN": info(x.dtype).max}[name]
        masked = apply("where", inside, data, Value.constant(np.asarray(neutral, x.dtype)))
        return masked.call({"SUM": "sum", "PROD": "prod", "MAX": "max", "MIN": "min"}[name], axis=[1])


@tflite_operator("WHERE")
class Where(TfliteOperator):
    """The places of elements that are not zero."""

    def convert(self, x: Operand) -> Result:
        return cast(x.call("argwhere"), self.outputs[0].dtype)


@tflite_operator("UNIQUE")
class Unique(TfliteOperator):
    """The distinct elements in order of their first appearance, and the place of each element among them."""

    def convert(self, x: Operand, *, idx_out_type: int = 0) -> Result:
        whole = x.call("unique", sorted=False, return_counts=False)
        distinct, places, count = (Value.of(TupleGetItem(whole.expr, i)) for i in (0, 2, 3))
        cut = head(distinct, cast(count, "int64"))
        return [cut, cast(places, self.outputs[1].dtype)]


@tflite_operator("BUCKETIZE")
class Bucketize(TfliteOperator):
    """The number of boundaries that each element is not below."""

    def convert(self, x: Operand, *, boundaries: tuple[float, ...] = ()) -> Result:
        edges = Value.constant(np.array(boundaries, np.float32))
        data = cast(x.value, "float32")
        return apply("searchsorted", edges, data, right=True, dtype="int32")
