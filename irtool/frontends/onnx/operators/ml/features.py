"""Selection and concatenation of features."""

from __future__ import annotations

from .....deferred import np
from .....diagnostics import IrError
from ...arithmetic import cast
from ...mistakes import DamagedModel
from ...operator import OnnxOperator, Result, onnx_operator, since
from ...scores import labels_of
from ...tuples import concatenate
from ...value import Value


@onnx_operator("ai.onnx.ml.ArrayFeatureExtractor")
class ArrayFeatureExtractor(OnnxOperator):
    """The elements along the last axis at the given places; of a vector a matrix of one row."""

    @since(1)
    def pick(self, x: Value, y: Value) -> Result:
        if not x.rank:
            raise IrError("a scalar has no features", code=DamagedModel)
        positions = y.call("reshape", newshape=[-1])
        if positions.known is not None and not positions.parameter:
            extent = x.shape[-1]
            if isinstance(extent, int) and ((positions.known < 0) | (positions.known >= extent)).any():
                raise IrError(f"a feature is asked for that {x.tensor} does not have", code=DamagedModel)
        picked = x.call("take", positions, axis=x.rank - 1)
        return picked.call("expand_dims", axis=0) if x.rank == 1 else picked


@onnx_operator("ai.onnx.ml.FeatureVectorizer")
class FeatureVectorizer(OnnxOperator):
    """The features of all inputs beside each other, as float32: of each the first `inputdimensions`, 0 where it has fewer."""

    @since(1)
    def join(self, *inputs: Value, inputdimensions: tuple[int, ...] = ()) -> Result:
        if not inputs or len(inputdimensions) not in (0, len(inputs)):
            raise IrError("inputdimensions has one number for each input", code=DamagedModel)
        parts = []
        for i, x in enumerate(inputs):
            x = cast(x, "float32")
            x = x.call("expand_dims", axis=0) if x.rank == 1 else x
            x.require_rank(2, "the features")
            parts.append(_resized(x, inputdimensions[i]) if inputdimensions else x)
        return concatenate(parts, 1)


def _resized(x: Value, count: int) -> Value:
    """The first `count` columns, padded with columns of 0."""
    if count < 0:
        raise IrError("inputdimensions has a negative number", code=DamagedModel)
    has = x.extent(1, "the features")
    if count < has:
        return x.call("strided_slice", begin=[0], end=[count], strides=[1], axes=[1])
    zero = Value.constant(np.float32(0))
    return x if count == has else x.call("nn.pad", zero, pad_width=[(0, 0), (0, count - has)])


@onnx_operator("ai.onnx.ml.ZipMap")
class ZipMap(OnnxOperator):
    """The tensor itself, `(rows, classes)`: Relay has no maps. The column of a label is its place in the list of labels."""

    folds = False

    @since(1)
    def columns(
        self, x: Value, *, classlabels_int64s: tuple[int, ...] = (), classlabels_strings: tuple[str, ...] = ()
    ) -> Result:
        count = len(labels_of(self, classlabels_int64s, classlabels_strings))
        if x.rank not in (1, 2) or (isinstance(x.shape[-1], int) and x.shape[-1] != count):
            raise IrError(f"there are {count} labels, and the scores are {x.tensor}", code=DamagedModel)
        return x
