"""Attention, embeddings and choices of quantized tensors, as ONNX Runtime's quantization writes them."""

from __future__ import annotations

from .....diagnostics import IrError
from ...arithmetic import add
from ...integer_products import integer_matmul
from ...mistakes import UnsupportedNode
from ...operator import OnnxOperator, Result, onnx_operator, since
from ...quantities import Quantities, dequantized, product, quantized, real
from ...value import Value
from .attention import Attention
from .normalization import EmbedLayerNormalization


@onnx_operator("com.microsoft.QAttention")
class QAttention(Attention):
    """Multi-head attention of quantized data and packed quantized weights; the operators after the product compute in floats."""

    @classmethod
    def versions(cls) -> dict:
        return {1: cls.quantized}

    @since(1)
    def quantized(
        self,
        x: Value,
        weights: Value,
        bias: Value,
        x_scale: Value,
        weight_scale: Value,
        mask_index: Value | None = None,
        x_zero_point: Value | None = None,
        weight_zero_point: Value | None = None,
        past: Value | None = None,
        *,
        num_heads: int,
        do_rotary: int = 0,
        mask_filter_value: float = -10000.0,
        past_present_share_buffer: int = 0,
        scale: float = 0.0,
        unidirectional: int = 0,
    ) -> Result:
        if do_rotary or past_present_share_buffer:
            raise IrError(
                "rotary embeddings and shared buffers inside QAttention have no form in Relay", code=UnsupportedNode
            )
        data, by = Quantities.of(x_scale, x_zero_point), Quantities.of(weight_scale, weight_zero_point)
        sums = integer_matmul(x, weights, data.zero, by.zero)
        packed = add(real(sums, product(data.scale, by.scale), bias.dtype), bias)
        return self.of_packed(packed, mask_index, past, None, num_heads, scale, mask_filter_value, unidirectional)


@onnx_operator("com.microsoft.QEmbedLayerNormalization")
class QEmbedLayerNormalization(EmbedLayerNormalization):
    """The normalized sum of embeddings in tables of 8 bits."""

    @classmethod
    def versions(cls) -> dict:
        return {1: cls.quantized}

    @since(1)
    def quantized(
        self,
        input_ids: Value,
        segment_ids: Value | None,
        word_table: Value,
        positions: Value,
        segments: Value | None,
        gamma: Value,
        beta: Value,
        mask: Value | None,
        word_scale: Value,
        position_scale: Value,
        segment_scale: Value | None,
        gamma_scale: Value,
        beta_scale: Value,
        word_zero_point: Value,
        position_zero_point: Value,
        segment_zero_point: Value | None,
        gamma_zero_point: Value,
        beta_zero_point: Value,
        *,
        epsilon: float = 1e-12,
    ) -> Result:
        def real(x: Value, scale: Value, zero: Value) -> Value:
            return dequantized(x, Quantities.of(scale, zero))

        segment_table = None
        if segments is not None and segment_scale is not None and segment_zero_point is not None:
            segment_table = real(segments, segment_scale, segment_zero_point)
        return self.embed(
            input_ids,
            segment_ids,
            real(word_table, word_scale, word_zero_point),
            real(positions, position_scale, position_zero_point),
            segment_table,
            real(gamma, gamma_scale, gamma_zero_point),
            real(beta, beta_scale, beta_zero_point),
            mask,
            epsilon=epsilon,
        )


@onnx_operator("com.microsoft.QLinearWhere")
class QLinearWhere(OnnxOperator):
    """A choice between two quantized tensors, quantized."""

    @since(1)
    def choose(
        self,
        condition: Value,
        x: Value,
        x_scale: Value,
        x_zero_point: Value,
        y: Value,
        y_scale: Value,
        y_zero_point: Value,
        z_scale: Value,
        z_zero_point: Value,
    ) -> Result:
        to = Quantities.known(z_scale, z_zero_point, "the result")
        left, right = (
            quantized(dequantized(v, Quantities.known(scale, zero, what)), to, z_zero_point.dtype)
            for v, scale, zero, what in (
                (x, x_scale, x_zero_point, "the first choice"),
                (y, y_scale, y_zero_point, "the second choice"),
            )
        )
        return condition.call("where", left, right)
