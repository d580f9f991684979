"""Reshapes to extents that are computed, as `newshape` of Relay's `reshape`, which copies, joins and splits extents."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...ir.dims import Dim
from ...ops.errors import RelationError
from ...ops.shape.reshape import infer_new_shape
from .partial import Numbers
from .value import Value


def resolved(extents: Sequence[Numbers], shape: Sequence[Numbers]) -> list[Numbers] | None:
    """The extents for a shape of ONNX's Reshape: 0 copies one, -1 is the remaining one. None if no extents fit.

    Extents are lists of numbers, one for each of several choices of the unknown extents.
    """
    columns = []
    for have, target in zip(zip(*extents, strict=True), zip(*shape, strict=True), strict=True):
        if any(w < -1 or (w == 0 and k >= len(have)) for k, w in enumerate(target)) or target.count(-1) > 1:
            return None
        resolved_extents = [have[k] if w == 0 else w for k, w in enumerate(target)]
        if -1 in resolved_extents:
            rest = math.prod(w for w in resolved_extents if w != -1)
            resolved_extents[resolved_extents.index(-1)] = math.prod(have) // rest if rest else 0
        if math.prod(resolved_extents) != math.prod(have):
            return None
        columns.append(resolved_extents)
    return [tuple(n) for n in zip(*columns, strict=True)]


def newshape(extents: Sequence[Numbers], target: Sequence[Numbers]) -> list[int] | None:
    """Relay's codes of a reshape to the required extents for all unknown numbers; None if no codes fit."""
    codes: list[int] = []
    axis = k = 0
    while k < len(target):
        w, rest = target[k], extents[axis:]
        if len(set(w)) == 1:
            codes.append(w[0])
        elif rest and rest[0] == w:
            codes.append(0)
        elif len(rest) > 1 and _product(rest[0], rest[1]) == w:
            codes.append(-3)
            axis += 1
        elif rest and k + 1 < len(target) and _product(w, target[k + 1]) == rest[0]:
            codes += [-4, *(n[0] if len(set(n)) == 1 else -1 for n in target[k : k + 2])]
            k += 1
        else:
            codes.append(-1)
        axis, k = axis + 1, k + 1
    try:
        reproduced = [infer_new_shape(have, codes) for have in zip(*extents, strict=True)]
    except RelationError:
        return None
    return codes if reproduced == [tuple(n) for n in zip(*target, strict=True)] else None


def reshaped(x: Value, shape: Sequence[Dim]) -> Value:
    """The tensor with other extents, 0 included: no axis is copied. -1 is the remaining extent."""
    return x.call("reshape", newshape=list(shape), **({"allowzero": True} if 0 in shape else {}))


def _product(a: Numbers, b: Numbers) -> Numbers:
    return tuple(x * y for x, y in zip(a, b, strict=True))
