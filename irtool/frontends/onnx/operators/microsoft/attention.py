"""Attention as ONNX Runtime's optimizer fuses it, with the products before it or without."""

from __future__ import annotations

import math

from .....deferred import np
from .....diagnostics import IrError
from .....ir import Dim
from ...arithmetic import add, cast, multiply, subtract
from ...dot_product import attention, causal, join_heads, split_heads, total
from ...memory_limit import counted
from ...mistakes import DamagedModel, UnsupportedNode
from ...operator import OnnxOperator, Result, onnx_operator, since
from ...tuples import concatenate
from ...value import Value
from ..products import matrix_product


def mask_bias(mask: Value | None, batch: Dim, keys: int, dtype: str, filtered: float) -> Value | None:
    """The bias of scores under a mask: `filtered` where it is 0. A mask has a number of keys for each line, or one for each key,
    or one for each query and key.
    """
    if mask is None:
        return None
    if mask.rank == 1:
        if mask.shape != (batch,):
            raise IrError(f"a mask {mask.tensor} of starts and ends has no form in Relay", code=UnsupportedNode)
        positions = Value.constant(counted(keys, "the places of keys", mask.dtype).reshape(1, keys))
        seen = positions.call("less", mask.call("reshape", newshape=[-1, 1]))
    else:
        seen = mask
    if seen.rank not in (2, 3, 4):
        raise IrError(f"a mask {mask.tensor} has no form in Relay", code=UnsupportedNode)
    while seen.rank < 4:
        seen = seen.call("expand_dims", axis=1)
    return multiply(subtract(1, cast(seen, dtype)), filtered)


@onnx_operator("com.microsoft.Attention")
class Attention(OnnxOperator):
    """Multi-head attention of `(N, length, hidden)`: queries, keys and values by one product with packed weights."""

    @since(1)
    def self_attention(
        self,
        x: Value,
        weights: Value,
        bias: Value | None = None,
        mask_index: Value | None = None,
        past: Value | None = None,
        attention_bias: Value | None = None,
        past_sequence_length: Value | None = None,
        *,
        num_heads: int,
        do_rotary: int = 0,
        mask_filter_value: float = -10000.0,
        past_present_share_buffer: int = 0,
        qkv_hidden_sizes: tuple[int, ...] = (),
        rotary_embedding_dim: int = 0,
        scale: float = 0.0,
        unidirectional: int = 0,
    ) -> Result:
        if do_rotary or past_present_share_buffer or past_sequence_length is not None:
            raise IrError(
                "rotary embeddings and shared buffers inside Attention have no form in Relay", code=UnsupportedNode
            )
        packed = matrix_product(x, weights)
        packed = packed if bias is None else add(packed, bias)
        return self.of_packed(
            packed,
            mask_index,
            past,
            attention_bias,
            num_heads,
            scale,
            mask_filter_value,
            unidirectional,
            qkv_hidden_sizes,
        )

    def of_packed(
        self,
        packed: Value,
        mask_index: Value | None,
        past: Value | None,
        attention_bias: Value | None,
        num_heads: int,
        scale: float,
        mask_filter_value: float,
        unidirectional: int,
        qkv_hidden_sizes: tuple[int, ...] = (),
    ) -> Result:
        """Attention of queries, keys and values side by side, and the keys and values."""
        hidden = packed.extent(-1, "the queries, keys and values")
        sizes = qkv_hidden_sizes or (hidden // 3,) * 3
        if len(sizes) != 3:
            raise IrError(f"qkv_hidden_sizes are {list(sizes)}, not three numbers", code=DamagedModel)
        packed.require_rank(3, "the queries, keys and values")
        parts, start = [], 0
        for size in sizes:
            part = packed.call("strided_slice", begin=[start], end=[start + size], strides=[1], axes=[2])
            parts.append(split_heads(part, num_heads))
            start += size
        q, k, v = parts
        earlier, before = 0, list[Value]()
        if past is not None:
            before = [past.call("take", Value.constant(np.asarray(i, "int32")), axis=0) for i in range(2)]
            earlier = before[0].extent(2, "the past keys")
            k, v = concatenate([before[0], k], 2), concatenate([before[1], v], 2)
        size = q.extent(3, "the queries")
        keys = k.extent(2, "the keys")
        line = causal(q, k, earlier, before[0] if before else None, q.dtype) if unidirectional else None
        masked = mask_bias(mask_index, q.shape[0], keys, q.dtype, mask_filter_value)
        attended = attention(q, k, v, total([masked, line, attention_bias]), scale or 1 / math.sqrt(size))
        present = None
        if self.wants(1):
            present = concatenate([t.call("expand_dims", axis=0) for t in (k, v)], 0)
        return [join_heads(attended), present]


def _unpacked(x: Value, count: int) -> list[Value]:
    """Tensors `(N, heads, length, size)` of one `(N, length, heads, count, size)`."""
    if x.rank != 5 or x.shape[3] != count:
        raise IrError(f"{count} packed tensors are expected, not {x.tensor}", code=DamagedModel)
    parts = [x.call("take", Value.constant(np.asarray(i, "int32")), axis=3) for i in range(count)]
    return [p.call("transpose", axes=[0, 2, 1, 3]) for p in parts]


@onnx_operator("com.microsoft.MultiHeadAttention")
class MultiHeadAttention(OnnxOperator):
    """Multi-head attention of queries `(N, length, hidden)`, keys and values, which may be `(N, heads, keys, size)`.

    Packed, all three are `(N, length, heads, 3, size)`, or keys and values `(N, keys, heads, 2, size)`.
    """

    @since(1)
    def cross_attention(
        self,
        query: Value,
        key: Value | None = None,
        value: Value | None = None,
        bias: Value | None = None,
        key_padding_mask: Value | None = None,
        attention_bias: Value | None = None,
        past_key: Value | None = None,
        past_value: Value | None = None,
        *,
        num_heads: int,
        mask_filter_value: float = -10000.0,
        scale: float = 0.0,
        unidirectional: int = 0,
    ) -> Result:
        if key is not None and value is not None:
            inputs = [query, key, value]
        else:
            inputs = _unpacked(query, 3) if key is None else [query, *_unpacked(key, 2)]
        if bias is not None:
            inputs = self._with_bias(inputs, bias)
        q, k, v = (split_heads(t, num_heads) if t.rank == 3 else t for t in inputs)
        earlier = 0
        if past_key is not None and past_value is not None:
            earlier = past_key.extent(2, "the past keys")
            k, v = concatenate([past_key, k], 2), concatenate([past_value, v], 2)
        size = q.extent(3, "the queries")
        keys = k.extent(2, "the keys")
        line = causal(q, k, earlier, past_key, query.dtype) if unidirectional else None
        masked = mask_bias(key_padding_mask, q.shape[0], keys, query.dtype, mask_filter_value)
        attended = attention(q, k, v, total([masked, line, attention_bias]), scale or 1 / math.sqrt(size))
        return [join_heads(attended), k, v]

    def _with_bias(self, inputs: list[Value], bias: Value) -> list[Value]:
        if any(t.rank != 3 for t in inputs):
            raise IrError("a bias of keys that are split into heads has no form in Relay", code=UnsupportedNode)
        values, start = [], 0
        for t in inputs:
            size = t.extent(2, "the data of attention")
            part = bias.call("strided_slice", begin=[start], end=[start + size], strides=[1], axes=[0])
            values.append(add(t, part))
            start += size
        return values
