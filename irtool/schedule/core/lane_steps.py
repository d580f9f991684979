"""Strides between the lanes of a vector along an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...tir.expr import Expr, Load, Var, substitute
from ...tir.forms import Reduction
from ...tir.simplify import Simplifier
from ...tir.stmt import Buffer
from ...tir.vector_target import MOST_LANES, VectorTarget
from ..cost.machine import CACHE_WAY
from .affine import epilogue_operands, stride
from .forms import Loop


def lane_step(e: Load, axis: Loop, lanes: int) -> int | None:
    """By how much the place of an element moves with the lane of a vector along the axis; None if not evenly."""
    group, lane = Var("group"), Var("lane")
    simplify = Simplifier({group: (0, axis[1] // lanes - 1), lane: (0, lanes - 1)})
    values: dict[Expr, Expr] = {axis[0]: group * lanes + lane}
    assert isinstance(e.source, Buffer)
    return stride(simplify, simplify(substitute(e.source.offset(e.indices), values)), lane)


def widest(target: VectorTarget, fits: Callable[[int], bool]) -> int:
    """Lanes of float32, a whole vector's or fewer, but four at least, for which something holds; 0 if there are none."""
    lanes = target.lanes(4)
    while lanes >= 4 and not fits(lanes):
        lanes //= 2
    return lanes if lanes >= 4 else 0


def apart(elements: int, lanes: int) -> int:
    """Elements from one row of so many float32 numbers to the next, for rows that are read together: with a vector between them where
    they would put each other out of the L1 cache."""
    return elements + lanes if elements * 4 % (CACHE_WAY // 2) == 0 else elements


def are_side_by_side(r: Reduction, operands: Sequence[tuple[Load, Loop]], results: Loop, lanes: int) -> bool:
    """True if vectors of so many lanes, a power of two, are whole along the axes, and lie side by side: of operands, each along its axis,
    and of what is stored along the axis of `results`; what the stores read beside the sum may also be the same for all lanes."""
    if not 0 < lanes <= MOST_LANES or lanes & (lanes - 1):
        return False
    if any(n % lanes for _, n in (*(axis for _, axis in operands), results)):
        return False
    written = [Load(s.buffer, s.indices) for s in r.stores]
    read = epilogue_operands(r)
    return (
        all(lane_step(e, axis, lanes) == 1 for e, axis in operands)
        and all(lane_step(e, results, lanes) == 1 for e in written)
        and all(lane_step(e, results, lanes) in (0, 1) for e in read)
    )
