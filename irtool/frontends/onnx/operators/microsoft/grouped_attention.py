"""Attention with one head of keys and values for several heads of queries, and a cache of past keys and values."""

from __future__ import annotations

import math
from itertools import pairwise

from .....deferred import np
from .....diagnostics import IrError
from ...arithmetic import add, cast, subtract
from ...counts import require_count
from ...dot_product import attention, join_heads, split_heads, total
from ...memory_limit import counted, filled, require_room
from ...mistakes import DamagedModel, UnsupportedNode
from ...operator import OnnxOperator, Result, onnx_operator, since
from ...tuples import concatenate
from ...value import Value
from .rotary import rotated


@onnx_operator("com.microsoft.GroupQueryAttention")
class GroupQueryAttention(OnnxOperator):
    """Causal attention of `(N, length, hidden)`; without keys and values the queries hold all three, one behind the other.

    A line has `seqlens_k + 1` keys with those of this call, whose place is behind its own in the cache. The new cache has as many
    places as the old one, or `total_sequence_length` if these are more; where that is not known, those of old and new together.
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
        *,
        num_heads: int,
        kv_num_heads: int,
        do_rotary: int = 0,
        local_window_size: int = -1,
        rotary_interleaved: int = 0,
        scale: float = 0.0,
        smooth_softmax: int = 0,
        softcap: float = 0.0,
    ) -> Result:
        if softcap or smooth_softmax > 0:
            raise IrError("capped scores and smooth softmax have no form in Relay", code=UnsupportedNode)
        require_count(num_heads, "num_heads")
        require_count(kv_num_heads, "kv_num_heads")
        if seqlens_k is None or num_heads % kv_num_heads or (key is None) != (value is None):
            raise IrError("lengths, heads, keys and values do not belong together", code=DamagedModel)
        if key is None or value is None:
            query, key, value = _unpacked(query, num_heads, kv_num_heads)
        q, k, v = split_heads(query, num_heads), split_heads(key, kv_num_heads), split_heads(value, kv_num_heads)
        length, size = q.extent(2, "the queries"), q.extent(3, "the queries")
        before = past_key.extent(2, "the cache of keys") if past_key is not None else 0
        start = _start(seqlens_k, length) if before else Value.constant(filled((1, 1), 0, "a place", "int32"))
        steps = Value.constant(counted(length, "the places of queries", "int32").reshape(1, -1))
        positions = _places(start, steps)
        if do_rotary:
            if cos_cache is None or sin_cache is None:
                raise IrError("rotary embeddings need caches of cosines and sines", code=DamagedModel)
            rotary_positions = position_ids if position_ids is not None and before else positions
            cos, sin = (
                c.call("take", rotary_positions, axis=0).call("expand_dims", axis=1) for c in (cos_cache, sin_cache)
            )
            rotary_size = 2 * cos_cache.extent(1, "the cache of cosines")
            q, k = (rotated(x, cos, sin, rotary_size, bool(rotary_interleaved), size) for x in (q, k))
        if past_key is not None and past_value is not None and before:
            known = total_sequence_length is not None and total_sequence_length.known is not None
            count = total_sequence_length.number("total_sequence_length") if known else before + length  # type: ignore[union-attr]  # as `known` says
            k, v = (_appended(p, x, start, max(before, count)) for p, x in ((past_key, k), (past_value, v)))
        seen = _seen(positions, k.extent(2, "the keys"), local_window_size, query.dtype)
        keys, values = (_for_each(x, num_heads // kv_num_heads) for x in (k, v))
        attended = attention(q, keys, values, total([seen, attention_bias]), scale or 1 / math.sqrt(size))
        return [join_heads(attended), k, v]


def _for_each(x: Value, heads: int) -> Value:
    """Keys or values for each head of the queries that share them."""
    return x.call("repeat", repeats=heads, axis=1) if heads > 1 else x


def _unpacked(packed: Value, heads: int, groups: int) -> tuple[Value, Value, Value]:
    size = packed.extent(2, "the packed queries, keys and values") // (heads + 2 * groups)
    bounds = [0, heads * size, (heads + groups) * size, (heads + 2 * groups) * size]
    q, k, v = (packed.call("strided_slice", begin=[b], end=[e], strides=[1], axes=[2]) for b, e in pairwise(bounds))
    return q, k, v


def _start(seqlens: Value, length: int) -> Value:
    """The number of keys of each line that came before, as a column; known where the lengths are."""
    if seqlens.known is not None and not seqlens.parameter:
        return Value.constant(np.maximum(seqlens.known.reshape(-1, 1) + 1 - length, 0).astype("int32"))
    column = cast(seqlens, "int32").call("reshape", newshape=[-1, 1])
    return subtract(column, length - 1).call("maximum", Value.constant(0, "int32"))


def _places(start: Value, steps: Value) -> Value:
    if start.known is not None and steps.known is not None:
        return Value.constant(start.known + steps.known)
    return add(start, steps)


def _appended(cache: Value, new: Value, start: Value, count: int) -> Value:
    """The first `count` places of a cache with new ones written from `start` on, which each line has its own of."""
    batch, heads, before, size = cache.extents("the cache", rank=4)
    length = new.extent(2, "the keys")
    joined = concatenate([cache, new], 2)
    if start.known is not None and (start.known == before).all() and count == before + length:
        return joined
    steps = Value.constant(counted(count, "the places of keys", "int32").reshape(1, 1, -1, 1))
    first = start.call("reshape", newshape=[-1, 1, 1, 1])
    moved = add(subtract(steps, first), before).call("clip", a_min=0, a_max=before + length - 1)
    old = steps.call("less", first).call("where", steps, moved)
    index = old.call("broadcast_to", shape=[batch, heads, count, size])
    return joined.call("gather", index, axis=2)


def _seen(positions: Value, keys: int, window: int, dtype: str) -> Value:
    """The mask to add to scores so that a query sees the keys up to its own place, and no more than a window of them."""
    steps = counted(keys, "the places of keys", "int32").reshape(1, 1, 1, -1)
    if positions.known is not None:
        here = positions.known[:, None, :, None]
        hidden = (steps > here) | ((steps <= here - window) if window > 0 else False)
        require_room((*positions.shape, keys), "a mask")  # type: ignore[arg-type]  # a constant's
        return Value.constant(np.where(hidden, -math.inf, 0.0), dtype)
    rows = positions.call("expand_dims", axis=1).call("expand_dims", axis=3)
    behind = Value.constant(steps).call("less_equal", rows)
    if window > 0:
        behind = behind.call("logical_and", Value.constant(steps).call("greater", subtract(rows, window)))
    return behind.call("where", Value.constant(0.0, dtype), Value.constant(-math.inf, dtype))
