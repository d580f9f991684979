"""Attention with several heads, over keys that the call has, over those of earlier calls, or over the cache of a caller."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....diagnostics import IrError
from ..arithmetic import cast, subtract
from ..dot_product import attention, hidden_keys, join_heads, places_from, split_heads, total
from ..length_values import extent_of_axis
from ..mistakes import DamagedModel
from ..model import Node
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..tuples import concatenate
from ..value import Value, apply


@onnx_operator("Attention")
class Attention(OnnxOperator):
    """`softmax(Q K^T * scale + mask) V` of several heads, of which some may share keys and values; and the keys and values of all calls.

    A query whose keys are all hidden has zeros as its result. Of halves, and with the products as a further result, ONNX's definition stands for it.
    """

    @classmethod
    def converts(cls, node: Node, inputs: Sequence[Value | None]) -> bool:
        has_products = len(node.outputs) > 3 and node.outputs[3]
        return not has_products and all(v is None or v.dtype not in ("float16", "bfloat16") for v in inputs)

    @since(23)
    def with_past(
        self,
        q: Value,
        k: Value,
        v: Value,
        attn_mask: Value | None = None,
        past_key: Value | None = None,
        past_value: Value | None = None,
        *,
        is_causal: int = 0,
        kv_num_heads: int | None = None,
        q_num_heads: int | None = None,
        qk_matmul_output_mode: int = 0,
        scale: float | None = None,
        softcap: float = 0.0,
        softmax_precision: int | None = None,
    ) -> Result:
        heads, right = (q_num_heads, kv_num_heads), 0 if is_causal else None
        past = (past_key, past_value)
        return self._attended((q, k, v), heads, attn_mask, past, None, (None, right), scale, softcap)

    @since(24, 25, added={"left_window_size": 25, "right_window_size": 25})
    def over_lengths(
        self,
        q: Value,
        k: Value,
        v: Value,
        attn_mask: Value | None = None,
        past_key: Value | None = None,
        past_value: Value | None = None,
        nonpad_kv_seqlen: Value | None = None,
        *,
        is_causal: int = 0,
        kv_num_heads: int | None = None,
        left_window_size: int = -1,
        q_num_heads: int | None = None,
        qk_matmul_output_mode: int = 0,
        right_window_size: int = -1,
        scale: float | None = None,
        softcap: float = 0.0,
        softmax_precision: int | None = None,
    ) -> Result:
        heads, past = (q_num_heads, kv_num_heads), (past_key, past_value)
        left = left_window_size if left_window_size >= 0 else None
        right = 0 if is_causal else right_window_size if right_window_size >= 0 else None
        return self._attended((q, k, v), heads, attn_mask, past, nonpad_kv_seqlen, (left, right), scale, softcap)

    def _attended(
        self,
        tensors: tuple[Value, Value, Value],
        heads: tuple[int | None, int | None],
        mask: Value | None,
        past: tuple[Value | None, Value | None],
        lengths: Value | None,
        window: tuple[int | None, int | None],
        scale: float | None,
        cap: float,
    ) -> Result:
        """The results. `lengths` are the numbers of keys of each line of a cache, the last of which are those of the queries; `window` has the
        keys that a query sees before its own, and behind it; None is no limit.
        """
        of_queries, of_keys = heads
        q, k, v = (_in_heads(x, n) for x, n in zip(tensors, (of_queries, of_keys, of_keys), strict=True))
        past_key, past_value = past
        before, first = 0, Value.constant(0, "int32")
        if past_key is not None and past_value is not None:
            if lengths is not None:
                raise IrError("a cache is that of the caller, or has past keys and values, not both", code=DamagedModel)
            before, first = past_key.extent(2, "the past keys"), extent_of_axis(past_key, 2, "int32")
            k, v = concatenate([past_key, k], 2), concatenate([past_value, v], 2)
        elif past_key is not None or past_value is not None:
            raise IrError("past keys and past values belong together", code=DamagedModel)
        length, count, size, dtype = (
            q.extent(2, "the queries"),
            k.extent(2, "the keys"),
            q.extent(3, "the queries"),
            q.dtype,
        )
        parts = [] if mask is None else [_bias(mask, count, dtype, self.opset >= 24)]
        if lengths is not None:
            first = subtract(cast(lengths, "int32"), extent_of_axis(q, 2, "int32"))
        left, right = window
        if left is not None or right is not None:
            places = places_from(first.call("reshape", newshape=[-1, 1]), length)
            parts.append(hidden_keys(places, count, left, right, dtype))
        if lengths is not None and right != 0:
            last = subtract(cast(lengths, "int32"), 1).call("reshape", newshape=[-1, 1])
            parts.append(hidden_keys(last, count, None, 0, dtype))
        bias = total(parts)
        y = attention(q, k, v, bias, 1 / math.sqrt(size) if scale is None else scale, cap)
        sees_itself = mask is None and lengths is None and (left is None or count == before + length)
        if bias is not None and not sees_itself:
            y = _where_keys_are_seen(y, bias)
        return [join_heads(y) if tensors[0].rank == 3 else y, k, v]


def _in_heads(x: Value, heads: int | None) -> Value:
    if x.rank != 3:
        return x
    if heads is None:
        raise IrError("tensors of rank 3 need q_num_heads and kv_num_heads", code=DamagedModel)
    return split_heads(x, heads)


def _bias(mask: Value, keys: int, dtype: str, may_be_short: bool) -> Value:
    """A mask as numbers to add to scores; if it `may_be_short`, the keys behind its own are hidden."""
    mask.require_rank(1, "the mask of attention", or_more=True)
    hidden = Value.constant(-math.inf, dtype)
    bias = mask.call("where", Value.constant(0.0, dtype), hidden) if mask.dtype == "bool" else cast(mask, dtype)
    if not may_be_short or (own := mask.extent(-1, "the mask of attention")) == keys:
        return bias
    return apply("nn.pad", bias, hidden, pad_width=[*[(0, 0)] * (mask.rank - 1), (0, keys - own)])


def _where_keys_are_seen(y: Value, bias: Value) -> Value:
    """The results `(N, heads, length, size)`, or 0 for queries whose keys are all hidden."""
    while bias.rank < 4:
        bias = bias.call("expand_dims", axis=0)
    seen = bias.call("max", axis=[3], keepdims=True).call("greater", Value.constant(-math.inf, bias.dtype))
    return seen.call("where", y, Value.constant(0.0, y.dtype))
