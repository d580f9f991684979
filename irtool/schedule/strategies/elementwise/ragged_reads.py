"""Reads along a vector axis whose offsets repeat after a period: `x[i / 2]`, `x[i % 2, i / 2]`, `x[i / 3 * 6 + i % 3]`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....symbolic_int import as_integer
from ....tir.expr import Binary, Const, Expr, Var, const, post_order, substitute
from ....tir.shuffles import find_shuffle
from ....tir.simplify import Simplifier
from ...core.affine import depends
from ...core.forms import Loop
from ...cost.machine import WRITTEN_OUT


def vectors_of_period(place: Expr, v: Var, loops: Sequence[Loop], lanes: int) -> int:
    """The number of vectors of `lanes` elements along `v` after which the distances between offsets repeat.

    0 if there are too many, or if two reads do not have all elements of one of the vectors.
    """
    period = math.lcm(*_divisors(place, v))
    count = math.lcm(period, lanes) // lanes
    if period < 2 or count > WRITTEN_OUT:
        return 0
    turn, step = Var("turn"), Var("step")
    chunk = count * lanes
    extent = next(n for x, n in loops if x is v)
    ranges = {x: (0, n - 1) for x, n in loops if x is not v}
    simplify = Simplifier({**ranges, turn: (0, extent // chunk), step: (0, chunk - 1)})
    moved = simplify(substitute(place, {v: turn * chunk + step}))
    terms, _ = simplify.linear(moved)
    if any(depends(atom, turn) for atom in terms if not isinstance(atom, Var)):
        return 0
    places = [simplify(substitute(moved, {step: const(n)})) for n in range(chunk)]
    for first in range(0, chunk, lanes):
        forms = [simplify.linear(e - places[first]) for e in places[first : first + lanes]]
        distances = [as_integer(distance) for _, distance in forms]
        if any(terms for terms, _ in forms) or find_shuffle([p - min(distances) for p in distances]) is None:
            return 0
    return count


def _divisors(place: Expr, v: Var) -> list[int]:
    """The divisors of terms with `v`."""
    return [
        e.b.int_value
        for e in post_order(place)
        if isinstance(e, Binary)
        and e.op in ("floordiv", "floormod", "truncdiv", "truncmod")
        and isinstance(e.b, Const)
        and depends(e.a, v)
    ]
