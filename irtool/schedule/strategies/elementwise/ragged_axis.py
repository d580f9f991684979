"""A vector axis with irregular reads: the step of its loop, and the positions at which it is cut.

x[i / 2]                    offsets repeat after a period, whose vectors are one step of the loop
x[min(i / 2 + 1, 55)]       clips matter at the ends only, where each vector is unrolled with its own offsets
x[i * 55 / 111]             no period, or a long one: all vectors of a short axis are unrolled
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ....symbolic_int import as_integer, is_known
from ....tir.expr import Binary, Const, Expr, Var, const, post_order, rewrite, substitute
from ....tir.shuffles import find_shuffle
from ....tir.simplify import Simplifier
from ...core.affine import depends, simplifier, stride
from ...core.forms import Loop
from ...cost.machine import TOGETHER, WRITTEN_OUT
from .ragged_reads import vectors_of_period

_GROWING = ("floordiv", "*")


@dataclass(frozen=True)
class UnevenAxis:
    """The first steps of the parts, followed by the end of the axis, and the vectors of a period."""

    cuts: list[int]
    period: int


def uneven_axis(
    indices: Sequence[Expr], v: Var, loops: Sequence[Loop], lanes: int, is_fused: bool = False
) -> UnevenAxis | None:
    """The parts of an axis whose vectors of `lanes` elements read the irregular offsets `indices` by a few reads each; None if
    they cannot.

    Vectors of a fused axis are never all unrolled: its rows have regular offsets. The ends of an axis whose extent only the run knows have
    no vectors of their own.
    """
    extent = next(n for x, n in loops if x is v)
    if not indices:
        return UnevenAxis([0, extent], 1)
    simplify = simplifier(loops)
    if not is_known(extent):
        periods = [_period(p, v, loops, lanes) for p in indices if not _clips(p, v)]
        return UnevenAxis([0, extent], math.lcm(*periods)) if len(periods) == len(indices) and all(periods) else None
    whole = extent // lanes * lanes
    ends = _clipped_ends(indices, v, extent, lanes, simplify)
    if ends is not None:
        periods = [_period(_without_clips(p, v), v, loops, lanes) for p in indices]
        if all(periods):
            cuts = {*range(0, ends[0], lanes), ends[0], *range(ends[1], whole, lanes), extent}
            return UnevenAxis(sorted({0, *cuts, *([whole] if ends[1] < whole else [])}), math.lcm(*periods))
    periods = [_period(p, v, loops, lanes) for p in indices]
    if all(periods):  # clips repeat, too
        return UnevenAxis([0, extent], math.lcm(*periods))
    if is_fused or whole > WRITTEN_OUT * lanes or not _are_near(indices, v, range(0, whole, lanes), lanes, simplify):
        return None
    return UnevenAxis(sorted({*range(0, whole, lanes), whole, extent}), 1)


def _period(place: Expr, v: Var, loops: Sequence[Loop], lanes: int) -> int:
    return 1 if stride(simplifier(loops), place, v) is not None else vectors_of_period(place, v, loops, lanes)


def _clipped_ends(
    indices: Sequence[Expr], v: Var, extent: int, lanes: int, simplify: Simplifier
) -> tuple[int, int] | None:
    """The steps, multiples of a vector, between which no offset is clipped; None if too many steps are clipped, or others than
    those at the ends."""
    first, end = 0, extent
    for e in {c: None for p in indices for c in _clips(p, v)}:
        inside, limit = _parts(e)
        if not _grows(inside, v):
            return None
        if e.op == "max":
            first = max(first, _first_at_least(limit, inside, v, extent, simplify))
        else:
            end = min(end, _first_at_least(limit + 1, inside, v, extent, simplify))
    whole = extent // lanes * lanes
    start = min(-(-first // lanes) * lanes, whole)
    stop = max(end // lanes * lanes, start) if end < extent else extent
    if max(start, extent - stop) > TOGETHER * lanes:
        return None
    vectors = [*range(0, start, lanes), *range(stop, whole, lanes)]
    return (start, stop) if _are_near(indices, v, vectors, lanes, simplify) else None


def _without_clips(place: Expr, v: Var) -> Expr:
    """The offset without its clips."""
    clips = set(_clips(place, v))
    return rewrite(place, lambda e: _parts(e)[0] if e in clips else e) if clips else place


def _clips(place: Expr, v: Var) -> list[Binary]:
    return [
        e
        for e in post_order(place)
        if isinstance(e, Binary) and e.op in ("min", "max") and isinstance(e.b, Const) and depends(e.a, v)
    ]


def _parts(e: Expr) -> tuple[Expr, int]:
    """The clipped expression, and its bound."""
    assert isinstance(e, Binary) and isinstance(e.b, Const)
    return e.a, e.b.int_value


def _grows(e: Expr, v: Var) -> bool:
    """True if an expression of the axis alone never decreases along it."""
    for x in post_order(e):
        if x is v or isinstance(x, Const):
            continue
        if not isinstance(x, Binary):
            return False
        by = x.b.value if isinstance(x.b, Const) else -1
        if x.op in _GROWING and by <= 0:
            return False
        if x.op not in (*_GROWING, "+", "min", "max") and not (x.op == "-" and isinstance(x.b, Const)):
            return False
    return True


def _first_at_least(limit: int, e: Expr, v: Var, extent: int, simplify: Simplifier) -> int:
    """The first step at which a growing expression is at least `limit`; the extent if it never is."""
    low, high = 0, extent
    while low < high:
        middle = (low + high) // 2
        number = simplify(substitute(e, {v: const(middle, v.dtype)}))
        assert isinstance(number, Const)
        low, high = (low, middle) if number.value >= limit else (middle + 1, high)
    return low


def _are_near(indices: Sequence[Expr], v: Var, vectors: Sequence[int], lanes: int, simplify: Simplifier) -> bool:
    """True if a few reads have the elements of each of the vectors, which begin at these steps."""
    for place in indices:
        for first in vectors:
            places = [simplify(substitute(place, {v: const(first + n, v.dtype)})) for n in range(lanes)]
            forms = [simplify.linear(e - places[0]) for e in places]
            distances = [as_integer(distance) for _, distance in forms]
            if any(terms for terms, _ in forms) or find_shuffle([p - min(distances) for p in distances]) is None:
                return False
    return True
