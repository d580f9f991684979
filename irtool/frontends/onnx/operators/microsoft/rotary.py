"""Rotary embeddings with caches of sines and cosines."""

from __future__ import annotations

from .....diagnostics import IrError
from ...arithmetic import add, multiply, subtract
from ...counts import require_count
from ...dot_product import join_heads, split_heads
from ...memory_limit import counted
from ...mistakes import UnsupportedNode
from ...operator import OnnxOperator, Result, onnx_operator, since
from ...tuples import concatenate
from ...value import Value


@onnx_operator("com.microsoft.RotaryEmbedding")
class RotaryEmbedding(OnnxOperator):
    """Pairs of numbers of each head turned by angles that depend on the position: the halves of a head, or, interleaved,
    neighbours. Positions are one for each place, or the first one of all lines.
    """

    @since(1)
    def rotate(
        self,
        x: Value,
        position_ids: Value,
        cos_cache: Value,
        sin_cache: Value,
        *,
        interleaved: int = 0,
        is_packed_batching: int = 0,
        num_heads: int = 0,
        rotary_embedding_dim: int = 0,
        scale: float = 1.0,
    ) -> Result:
        if is_packed_batching:
            raise IrError("packed batches have no form in Relay", code=UnsupportedNode)
        x.require_rank(3 if x.rank == 3 else 4, "the data of RotaryEmbedding")
        half = cos_cache.extent(1, "the cache of cosines")
        heads = num_heads
        if x.rank == 3 and not heads:
            heads = x.extent(2, "the data of RotaryEmbedding") // (2 * require_count(half, "the width of the caches"))
        data = split_heads(x, heads) if x.rank == 3 else x
        length, size = (data.extent(a, "the data of RotaryEmbedding") for a in (2, 3))
        positions = position_ids
        if positions.rank == 1:
            steps = Value.constant(counted(length, "the places of queries", positions.dtype).reshape(1, length))
            positions = add(positions.call("reshape", newshape=[1, 1]), steps)
        cos, sin = (c.call("take", positions, axis=0).call("expand_dims", axis=1) for c in (cos_cache, sin_cache))
        result = rotated(data, cos, sin, 2 * half, bool(interleaved), size)
        result = result if scale == 1 else multiply(result, scale)
        return join_heads(result) if x.rank == 3 else result


def rotated(x: Value, cos: Value, sin: Value, rotary_size: int, interleaved: bool, size: int) -> Value:
    """The first `rotary_size` numbers of each head turned, the rest as they are."""
    step = 2 if interleaved else 1
    starts = (
        ((0, rotary_size, step), (1, rotary_size, step))
        if interleaved
        else ((0, rotary_size // 2, 1), (rotary_size // 2, rotary_size, 1))
    )
    first, second = (x.call("strided_slice", begin=[b], end=[e], strides=[s], axes=[3]) for b, e, s in starts)
    halves = [subtract(multiply(first, cos), multiply(second, sin)), add(multiply(first, sin), multiply(second, cos))]
    if interleaved:
        columns = [m.call("expand_dims", axis=4) for m in halves]
        joined = concatenate(columns, 4).call("reshape", newshape=[0, 0, 0, rotary_size])
    else:
        joined = concatenate(halves, 3)
    if rotary_size == size:
        return joined
    return concatenate([joined, x.call("strided_slice", begin=[rotary_size], end=[size], strides=[1], axes=[3])], 3)
