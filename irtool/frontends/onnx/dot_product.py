"""Attention: the mean of values, weighted by how much each key is like the query."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...deferred import np
from ...diagnostics import IrError
from .arithmetic import add, cast, multiply, subtract
from .counts import require_count
from .length_values import extent_of_axis, numbers_below
from .memory_limit import counted, filled, require_room
from .mistakes import DamagedModel
from .tuples import concatenate
from .value import Value


def attention(
    q: Value, k: Value, v: Value, bias: Value | None, scale: float, cap: float = 0.0, sink: Value | None = None
) -> Value:
    """`softmax(q k^T * scale + bias) v` of `(N, heads, length, size)` each, the bias broadcast to `(N, heads, length, keys)`.

    Several heads of queries in a row may share one head of keys and values. A `cap` other than 0 bounds scores: `cap * tanh(score / cap)`,
    before the bias. A `sink`, `(heads)`, is the score of a further key for each head, whose value is 0.
    """
    for x, what in ((q, "queries"), (k, "keys"), (v, "values")):
        x.require_rank(4, f"the {what} of attention")
    heads, length, size = (q.extent(a, "the queries of attention") for a in (1, 2, 3))
    keys, width = k.extent(2, "the keys of attention"), v.extent(3, "the values of attention")
    rows = length
    if (groups := k.extent(1, "the keys of attention")) != heads:
        if not groups or heads % groups:
            raise IrError(f"{heads} heads of queries cannot share {groups} of keys", code=DamagedModel)
        rows = heads // groups * length  # one product for all queries that share keys
    flat = [x.call("reshape", newshape=[-1, n, d]) for x, n, d in ((q, rows, size), (k, keys, size), (v, keys, width))]
    scores = flat[0].call("nn.batch_matmul", flat[1], transpose_a=False, transpose_b=True)
    scores = multiply(scores, scale)
    if cap:
        scores = multiply(multiply(scores, 1 / cap).call("tanh"), cap)
    if bias is not None:
        scores = add(scores.call("reshape", newshape=[-1, heads, length, keys]), bias)
        scores = scores.call("reshape", newshape=[-1, rows, keys])
    weights = scores.call("nn.softmax", axis=-1) if sink is None else _with_sink(scores, sink, rows, heads, length)
    attended = weights.call("nn.batch_matmul", flat[2], transpose_a=False, transpose_b=False)
    return attended.call("reshape", newshape=[-1, heads, length, width])


def _with_sink(scores: Value, sink: Value, rows: int, heads: int, length: int) -> Value:
    """The softmax of scores `(N * groups, rows, keys)` over the keys and the sink of each head, without the sink's share."""
    keys = scores.extent(2, "the scores of attention")
    each = scores.call("reshape", newshape=[-1, heads, length, keys])
    batch = each.extent(0, "the scores of attention")
    column = cast(sink, scores.dtype).call("reshape", newshape=[1, -1, 1, 1])
    column = column.call("broadcast_to", shape=[batch, heads, length, 1])
    weights = concatenate([each, column], 3).call("nn.softmax", axis=-1)
    weights = weights.call("strided_slice", begin=[0], end=[keys], strides=[1], axes=[3])
    return weights.call("reshape", newshape=[-1, rows, keys])


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


def causal(queries: Value, keys: Value, past: int, before: Value | None, dtype: str) -> Value:
    """The mask to add to scores so that a query sees the keys up to its own place, and those of the past, of which there are `past`.

    `before` has that extent along its last axis but one. If there are more keys than these, the last query sees all, as in ONNX Runtime.
    """
    length, count = queries.extent(2, "the queries of attention"), keys.extent(2, "the keys of attention")
    if count == past + length:
        first = Value.constant(0, "int32") if before is None else extent_of_axis(before, before.rank - 2, "int32")
        return hidden_keys(places_from(first.call("reshape", newshape=[1, 1]), length), count, None, 0, dtype)
    require_room((length, count), "a mask")
    place = counted(length, "a mask")[:, None]
    seen = (counted(count, "a mask")[None, :] <= place + past) | (place == length - 1)
    return Value.constant(np.where(seen, 0.0, -math.inf), dtype)


def places_from(first: Value, length: int) -> Value:
    """`length` places of each line from its first one on; `first` is a column."""
    steps = numbers_below(length, "the places of queries", "int32").call("reshape", newshape=[1, -1])
    if first.known is not None and steps.known is not None:
        return Value.constant(first.known + steps.known)
    return add(first, steps)


def hidden_keys(places: Value, keys: int, left: int | None, right: int | None, dtype: str) -> Value:
    """The mask to add to scores so that a query sees the keys from `left` before its place to `right` behind it; None is no limit.

    `places` is `(N, length)`, or `(N, 1)` for all queries of a line; the mask is `(N, 1, length, keys)`.
    """
    steps = numbers_below(keys, "the places of keys", "int32").call("reshape", newshape=[1, 1, 1, -1])
    if places.known is not None and steps.known is not None:
        rows, length = places.known.shape
        hidden = filled((rows, 1, length, keys), False, "a mask")
        distance = steps.known - places.known[:, None, :, None]
        if left is not None:
            hidden |= distance < -left
        if right is not None:
            hidden |= distance > right
        return Value.constant(np.where(hidden, -math.inf, 0.0), dtype)
    rows = places.call("expand_dims", axis=1).call("expand_dims", axis=3)
    seen = []
    if right is not None:
        seen.append(steps.call("less_equal", add(rows, right) if right else rows))
    if left is not None:
        seen.append(steps.call("greater_equal", subtract(rows, left)))
    both = seen[0].call("logical_and", *seen[1:]) if len(seen) > 1 else seen[0]
    return both.call("where", Value.constant(0.0, dtype), Value.constant(-math.inf, dtype))


def total(parts: Sequence[Value | None]) -> Value | None:
    """The sum of the values that are not None, or None."""
    value: Value | None = None
    for part in parts:
        if part is not None:
            value = part if value is None else add(value, part)
    return value
