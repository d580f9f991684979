"""Normalizations, with the sums before them that ONNX Runtime's optimizer takes in."""

from __future__ import annotations

from .....diagnostics import IrError
from ...arithmetic import add, cast, multiply
from ...counts import require_count
from ...memory_limit import filled
from ...mistakes import UnsupportedNode
from ...normalize import layer_norm, rms_norm, statistics
from ...operator import OnnxOperator, Result, onnx_operator, since
from ...value import Value


@onnx_operator("com.microsoft.SkipLayerNormalization")
class SkipLayerNormalization(OnnxOperator):
    """Layer normalization of a sum, along the last axis; and mean, inverse deviation, and the sum."""

    @since(1)
    def of_sum(
        self,
        x: Value,
        skip: Value,
        gamma: Value,
        beta: Value | None = None,
        bias: Value | None = None,
        *,
        epsilon: float = 1e-12,
    ) -> Result:
        total = added(x, skip, bias)
        mean, inverse = None, None
        if self.wants(1) or self.wants(2):
            mean, inverse = statistics(cast(total, "float32"), [total.rank - 1], epsilon)
        return [layer_norm(total, gamma, beta, -1, epsilon), mean, inverse, total]


def added(x: Value, skip: Value, bias: Value | None) -> Value:
    """The sum of the present operands."""
    total = add(x, skip)
    return total if bias is None else add(total, bias)


@onnx_operator("SimplifiedLayerNormalization", "com.microsoft.SimplifiedLayerNormalization")
class SimplifiedLayerNormalization(OnnxOperator):
    """`x / sqrt(mean(x ** 2) + epsilon) * scale` over all axes from `axis` on; and the inverse deviation."""

    @since(1)
    def over_last(
        self, x: Value, scale: Value, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
    ) -> Result:
        wide = "float64" if x.dtype == "float64" else "float32"
        normalized = rms_norm(x, scale, axis, epsilon, wide)
        return [normalized, _inverse(x, axis, epsilon) if self.wants(1) else None]


@onnx_operator("com.microsoft.SkipSimplifiedLayerNormalization")
class SkipSimplifiedLayerNormalization(OnnxOperator):
    """RMS normalization of a sum, along the last axis; and the inverse deviation and the sum."""

    @since(1)
    def of_sum(
        self, x: Value, skip: Value, gamma: Value, bias: Value | None = None, *, epsilon: float = 1e-5
    ) -> Result:
        total = added(x, skip, bias)
        inverse = _inverse(total, -1, epsilon) if self.wants(2) else None
        return [rms_norm(total, gamma, -1, epsilon, "float32"), None, inverse, total]


def _inverse(x: Value, axis: int, epsilon: float) -> Value:
    """`1 / sqrt(mean(x ** 2) + epsilon)` in float32."""
    wide = cast(x, "float32")
    mean = multiply(wide, wide).call("mean", axis=list(range(x.axis(axis), x.rank)), keepdims=True)
    return add(mean, epsilon).call("rsqrt")


@onnx_operator("com.microsoft.EmbedLayerNormalization")
class EmbedLayerNormalization(OnnxOperator):
    """The normalized sum of embeddings of words, positions and segments; and the number of words of each line, and the sum."""

    @since(1)
    def embed(
        self,
        input_ids: Value,
        segment_ids: Value | None,
        word_table: Value,
        positions: Value,
        segments: Value | None,
        gamma: Value,
        beta: Value,
        mask: Value | None = None,
        position_ids: Value | None = None,
        *,
        epsilon: float = 1e-12,
        mask_index_type: int | None = None,
    ) -> Result:
        batch, length = input_ids.extents("the input_ids of EmbedLayerNormalization", rank=2)
        total = word_table.call("take", input_ids, axis=0)
        if position_ids is None:
            total = add(total, positions.call("strided_slice", begin=[0], end=[length], strides=[1], axes=[0]))
        else:
            total = add(total, positions.call("take", position_ids, axis=0))
        if segment_ids is not None and segments is not None:
            total = add(total, segments.call("take", segment_ids, axis=0))
        index = mask.call("sum", axis=[1]) if mask is not None else None
        if index is None and self.wants(1):
            index = Value.constant(filled(batch, 0, "the number of words", "int32"))
        return [layer_norm(total, gamma, beta, -1, epsilon), index, total]


@onnx_operator("com.microsoft.GroupNorm")
class GroupNorm(OnnxOperator):
    """Mean 0 and variance 1 of each group of channels, which may be the last axis, then SiLU if `activation` is 1."""

    @since(1)
    def normalize(
        self,
        x: Value,
        gamma: Value,
        beta: Value,
        *,
        activation: int,
        groups: int,
        channels_last: int = 1,
        epsilon: float = 1e-5,
    ) -> Result:
        if activation not in (0, 1):
            raise IrError(f"activation {activation} is not known", code=UnsupportedNode)
        x.require_rank(3, "the data of GroupNorm", or_more=True)
        require_count(groups, "groups")
        forth, back = [0, x.rank - 1, *range(1, x.rank - 1)], [0, *range(2, x.rank), 1]
        data = x.call("transpose", axes=forth) if channels_last else x
        parameters = [cast(p, x.dtype) for p in (gamma, beta)]
        normalized = data.call("nn.group_norm", *parameters, num_groups=groups, axis=1, epsilon=epsilon)
        normalized = multiply(normalized, normalized.call("sigmoid")) if activation else normalized
        return normalized.call("transpose", axes=back) if channels_last else normalized
