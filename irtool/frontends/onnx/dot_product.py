"""Attention: the mean of values, weighted by how much each key is like the query."""

from __future__ import annotations

from collections.abc import Sequence

from ...deferred import np
from .arithmetic import add, multiply
from .counts import require_count
from .memory_limit import counted, require_room
from .value import Value


def attention(q: Value, k: Value, v: Value, bias: Value | None, scale: float) -> Value:
    """`softmax(q k^T * scale + bias) v` of `(N, heads, length, size)` each, the bias broadcast to `(N, heads, length, keys)`."""
    for x, what in ((q, "queries"), (k, "keys"), (v, "values")):
        x.require_rank(4, f"the {what} of attention")
    heads, length, size = (q.extent(a, "the queries of attention") for a in (1, 2, 3))
    keys, width = k.extent(2, "the keys of attention"), v.extent(3, "the values of attention")
    flat = [
        x.call("reshape", newshape=[-1, n, d]) for x, n, d in ((q, length, size), (k, keys, size), (v, keys, width))
    ]
    scores = flat[0].call("nn.batch_matmul", flat[1], transpose_a=False, transpose_b=True)
    scores = multiply(scores, scale)
    if bias is not None:
        scores = add(scores.call("reshape", newshape=[-1, heads, length, keys]), bias)
        scores = scores.call("reshape", newshape=[-1, length, keys])
    weights = scores.call("nn.softmax", axis=-1)
    attended = weights.call("nn.batch_matmul", flat[2], transpose_a=False, transpose_b=False)
    return attended.call("reshape", newshape=[-1, heads, length, width])


def split_heads(x: Value, heads: int) -> Value:
    """`(N, length, heads * size)` as `(N, heads, length, size)`."""
    x.require_rank(3, "the data of attention")
    hidden = x.extent(2, "the data of attention")
    require_count(heads, "the number of heads")
    return x.call("reshape", newshape=[0, 0, heads, hidden // heads]).call("transpose", axes=[0, 2, 1, 3])


def join_heads(x: Value) -> Value:
    """`(N, heads, length, size)` as `(N, length, heads * size)`."""
    hidden = x.extent(1, "the result of attention") * x.extent(3, "the result of attention")
    return x.call("transpose", axes=[0, 2, 1, 3]).call("reshape", newshape=[0, 0, hidden])


def causal(length: int, keys: int, before: int, dtype: str, filtered: float) -> Value:
    """The mask to add to scores so that a query sees the keys up to its own place, and `before` of the past.

    The last query sees all keys, as in ONNX Runtime, also if there are more keys than queries.
    """
    require_room((length, keys), "a mask")
    place = counted(length, "a mask")[:, None]
    seen = (counted(keys, "a mask")[None, :] <= place + before) | (place == length - 1)
    return Value.constant(np.where(seen, 0.0, filtered), dtype)


def total(parts: Sequence[Value | None]) -> Value | None:
    """The sum of the values that are not None, or None."""
    value: Value | None = None
    for part in parts:
        if part is not None:
            value = part if value is None else add(value, part)
    return value
