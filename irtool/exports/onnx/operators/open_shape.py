"""Shapes of results that only a run knows, computed by nodes: for reshapes with more than one open extent."""

from __future__ import annotations

from collections.abc import Sequence

from ....ops.shape.reshape import ReshapeLike
from ..graph import Value
from ..site import OnnxSite


def shape_of_codes(s: OnnxSite, codes: Sequence[int], backwards: bool = False) -> Value:
    """The shape that TVM's codes of `reshape` stand for, as a vector of int64.

    0 takes over an extent, -2 all that are left, -3 the product of the next two, and -4 parts one into the next two codes. -1 is
    the product of the extents that no other code takes, over the numbers: `Reshape` finds none where another extent is 0.
    Extents, codes and the result are read from the back if it goes `backwards`.
    """
    if backwards:
        codes = codes[::-1]
    rank, axis, n = len(s.tensor(0).shape), 0, 0
    extents = _reverse(s, s.shape(s.inputs[0]), backwards)
    parts: list[Value] = []
    left, numbers, inferred = set(range(rank)), 1, -1
    while n < len(codes):
        code = codes[n]
        if code == -2:
            parts.append(s.slice(extents, [axis], [rank], [0]))
            left -= set(range(axis, rank))
            axis = rank
        elif code == -3:
            parts.append(s.node("ReduceProd", s.slice(extents, [axis], [axis + 2], [0]), keepdims=1))
            left -= {axis, axis + 1}
            axis += 2
        elif code == -4:
            parts += _parted(s, s.slice(extents, [axis], [axis + 1], [0]), codes[n + 1], codes[n + 2])
            left.discard(axis)
            axis += 1
            n += 2
        elif code == 0:
            parts.append(s.slice(extents, [axis], [axis + 1], [0]))
            left.discard(axis)
            axis += 1
        else:
            inferred = len(parts) if code == -1 else inferred
            numbers *= code if code != -1 else 1
            parts.append(s.ints(code))
            axis += 1
        n += 1
    if inferred >= 0:
        rest = s.node("ReduceProd", s.node("Gather", extents, s.ints(*sorted(left))), keepdims=1) if left else s.ints(1)
        parts[inferred] = s.div(rest, s.ints(numbers)) if numbers != 1 else rest
    return _reverse(s, s.concat(parts, 0), backwards)


def _reverse(s: OnnxSite, vector: Value, backwards: bool) -> Value:
    return s.slice(vector, [-1], [-(1 << 63) + 1], [0], [-1]) if backwards else vector


def _parted(s: OnnxSite, extent: Value, first: int, second: int) -> list[Value]:
    """The two extents that `extent` is parted into; one of them may be -1."""
    return [
        s.div(extent, s.ints(other)) if code == -1 else s.ints(code)
        for code, other in ((first, second), (second, first))
    ]


def shape_of_like(s: OnnxSite, op: ReshapeLike) -> Value:
    """The shape that `reshape_like` gives its first argument."""
    ranks = [len(s.tensor(n).shape) for n in (0, 1)]
    first = list(range(ranks[0]))
    second = list(range(ranks[0], ranks[0] + ranks[1]))
    known_axes = [int(d) for d in op.target_shape(first, second) if isinstance(d, int)]
    extents = s.concat([s.shape(s.inputs[0]), s.shape(s.inputs[1])], 0)
    return s.node("Gather", extents, s.ints(*known_axes))
