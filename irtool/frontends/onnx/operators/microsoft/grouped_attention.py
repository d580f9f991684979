"""Attention with one head of keys and values for several heads of queries, and a cache of past keys and values."""

from __future__ import annotations

import math
from itertools import pairwise

from .....deferred import np
from .....diagnostics import IrError
from .....ir.dims import is_number
from .....symbolic_int import maximum
from ...arithmetic import add, cast, subtract
from ...counts import require_count
from ...dot_product import attention, hidden_keys, join_heads, places_from, split_heads, total
from ...length_values import extent_of_axis, numbers_below
from ...memory_limit import filled
from ...mistakes import DamagedModel, UnsupportedNode
from ...normalize import rms_norm
from ...operator import OnnxOperator, Result, onnx_operator, since
from ...tuples import concatenate
from ...value import Value, apply
from .rotary import rotated


@onnx_operator("com.microsoft.GroupQueryAttention")
class GroupQueryAttention(OnnxOperator):
    """Attention of `(N, length, hidden)`; without keys and values the queries hold all three, one behind the other.

    A line has `seqlens_k + 1` keys with those of this call, whose place is behind its own in the cache. The new cache has as many
    places as the old one, or `total_sequence_length` if these are more; where that is not known, those of old and new together.
    `total_sequence_length` is the number of keys of the longest line, so that it is that of the only line of a batch of one, unless
    `query_seqlens` says how many queries of a line count: then it is no more than a bound.
    """

    @since(1)
    def grouped(
        self,
        query: Value,
        key: Value | None = None,
        value: Value | None = None,
        past_key: Value | None = None,
        past_value: Value | None = None,
        seqlens_k: Value | None = None,
        total_sequence_length: Value | None = None,
        cos_cache: Value | None = None,
        sin_cache: Value | None = None,
        position_ids: Value | None = None,
        attention_bias: Value | None = None,
        head_sink: Value | None = None,
        k_scale: Value | None = None,
        v_scale: Value | None = None,
        q_norm_weight: Value | None = None,
        k_norm_weight: Value | None = None,
        query_seqlens: Value | None = None,
        *,
        num_heads: int,
        kv_num_heads: int,
        causal: int = 1,
        do_rotary: int = 0,
        k_norm_epsilon: float | None = None,
        k_quant_type: str = "NONE",
        kv_cache_bit_width: int = 0,
        local_window_size: int = -1,
        q_norm_epsilon: float | None = None,
        qk_norm_epsilon: float = 1e-6,
        qk_output: int = 0,
        rotary_interleaved: int = 0,
        scale: float = 0.0,
        sliding_window_cache: int = 0,
        smooth_softmax: int = 0,
        softcap: float = 0.0,
        v_quant_type: str = "NONE",
    ) -> Result:
        if k_scale is not None or v_scale is not None or {k_quant_type, v_quant_type} != {"NONE"} or kv_cache_bit_width:
            raise IrError("quantized caches have no form in Relay", code=UnsupportedNode)
        if sliding_window_cache:
            raise IrError("caches of the size of the window have no form in Relay", code=UnsupportedNode)
        if not causal and (local_window_size > 0 or query_seqlens is not None):
            raise IrError("windows and lengths of queries belong to causal attention", code=DamagedModel)
        require_count(num_heads, "num_heads")
        require_count(kv_num_heads, "kv_num_heads")
        if seqlens_k is None or num_heads % kv_num_heads or (key is None) != (value is None):
            raise IrError("lengths, heads, keys and values do not belong together", code=DamagedModel)
        if (past_key is None) != (past_value is None) or (q_norm_weight is None) != (k_norm_weight is None):
            raise IrError("there is a tensor for keys, or for queries, without its other one", code=DamagedModel)
        if key is None or value is None:
            query, key, value = _unpacked(query, num_heads, kv_num_heads)
        q, k, v = split_heads(query, num_heads), split_heads(key, kv_num_heads), split_heads(value, kv_num_heads)
        length, size = q.extent(2, "the queries"), q.extent(3, "the queries")
        if q_norm_weight is not None and k_norm_weight is not None:
            of_queries, of_keys = (qk_norm_epsilon if e is None else e for e in (q_norm_epsilon, k_norm_epsilon))
            q, k = (
                rms_norm(x, w, -1, e, "float32")
                for x, w, e in ((q, q_norm_weight, of_queries), (k, k_norm_weight, of_keys))
            )
        before = past_key.extent(2, "the cache of keys") if past_key is not None else 0
        is_cached = not (is_number(before) and before == 0)
        count, is_joined = before + length, False
        if is_cached and total_sequence_length is not None and _is_determined(total_sequence_length):
            count = total_sequence_length.number("total_sequence_length")
            if is_number(count) and is_number(length) and count < length:
                raise IrError(f"total_sequence_length is {count}, and there are {length} queries", code=DamagedModel)
            is_joined = count == before + length and query_seqlens is None and q.shape[0] == 1
        places = maximum(before, count)
        if not is_cached:
            start = Value.constant(filled((1, 1), 0, "a place", "int32"))
        elif is_joined and past_key is not None:
            start = extent_of_axis(past_key, 2, "int32").call("reshape", newshape=[1, 1])
        else:
            start = _start(seqlens_k, query_seqlens, q)
        positions = places_from(start, length)
        if do_rotary:
            if cos_cache is None or sin_cache is None:
                raise IrError("rotary embeddings need caches of cosines and sines", code=DamagedModel)
            rotary_positions = position_ids if position_ids is not None and is_cached else positions
            cos, sin = (
                c.call("take", rotary_positions, axis=0).call("expand_dims", axis=1) for c in (cos_cache, sin_cache)
            )
            rotary_size = 2 * cos_cache.extent(1, "the cache of cosines")
            q, k = (rotated(x, cos, sin, rotary_size, bool(rotary_interleaved), size) for x in (q, k))
        if past_key is not None and past_value is not None and is_cached:
            k, v = (_appended(p, x, start, places, is_joined) for p, x in ((past_key, k), (past_value, v)))
        keys, values = (_first(x, count) for x in (k, v))
        last = positions if causal else _column(seqlens_k)
        window = local_window_size - 1 if local_window_size > 0 else None
        hidden = hidden_keys(last, keys.extent(2, "the keys"), window, 0, query.dtype)
        sink = head_sink
        if sink is None and smooth_softmax > 0:
            sink = Value.constant(filled((num_heads,), 0, "a score for each head", query.dtype))
        bias = total([hidden, attention_bias])
        attended = attention(q, keys, values, bias, scale or 1 / math.sqrt(size), softcap, sink)
        return [join_heads(attended), k, v]


def _first(x: Value, count: int) -> Value:
    """The first places of a cache, if there are more."""
    if x.extent(2, "the cache") == count:
        return x
    return x.call("strided_slice", begin=[0], end=[count], strides=[1], axes=[2])


def _is_determined(x: Value) -> bool:
    return (x.known is not None and not x.parameter) or x.lengths is not None


def _unpacked(packed: Value, heads: int, groups: int) -> tuple[Value, Value, Value]:
    size = packed.extent(2, "the packed queries, keys and values") // (heads + 2 * groups)
    bounds = [0, heads * size, (heads + groups) * size, (heads + 2 * groups) * size]
    q, k, v = (packed.call("strided_slice", begin=[b], end=[e], strides=[1], axes=[2]) for b, e in pairwise(bounds))
    return q, k, v


def _start(seqlens: Value, counts: Value | None, queries: Value) -> Value:
    """The number of keys of each line that came before, as a column; known where the lengths are. `counts`: how many of the queries count."""
    if counts is None:
        length = queries.extent(2, "the queries")
        if is_number(length) and seqlens.known is not None and not seqlens.parameter:
            return Value.constant(np.maximum(seqlens.known.reshape(-1, 1) + 1 - length, 0).astype("int32"))
        counts = extent_of_axis(queries, 2, "int32")
    count = cast(counts, "int32").call("reshape", newshape=[-1, 1])
    return add(subtract(_column(seqlens), count), 1).call("maximum", Value.constant(0, "int32"))


def _column(seqlens: Value) -> Value:
    return cast(seqlens, "int32").call("reshape", newshape=[-1, 1])


def _appended(cache: Value, new: Value, start: Value, count: int, is_joined: bool) -> Value:
    """The first `count` places of a cache with new ones written from `start` on, which each line has its own of.

    With `is_joined`, the new ones are behind all places of the cache.
    """
    batch, heads, before, size = cache.extents("the cache", rank=4)
    length = new.extent(2, "the keys")
    if is_joined or (start.known is not None and (start.known == before).all() and count == before + length):
        return concatenate([cache, new], 2)
    if count == before:
        places = places_from(start, length).call("reshape", newshape=[-1, 1, length, 1])
        places = places.call("broadcast_to", shape=[batch, heads, length, size])
        return apply("scatter_elements", cache, places, new, axis=2, reduction="update")
    joined = concatenate([cache, new], 2)
    steps = numbers_below(count, "the places of keys", "int32").call("reshape", newshape=[1, 1, -1, 1])
    first = start.call("reshape", newshape=[-1, 1, 1, 1])
    moved = add(subtract(steps, first), extent_of_axis(cache, 2, "int32"))
    last = subtract(extent_of_axis(joined, 2, "int32"), 1)
    moved = moved.call("minimum", last).call("maximum", Value.constant(0, "int32"))
    old = steps.call("less", first).call("where", steps, moved)
    index = old.call("broadcast_to", shape=[batch, heads, count, size])
    return joined.call("gather", index, axis=2)
