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
    """The stride of an element's offset along the lanes of a vector along the axis; None if it is not uniform."""
    group, lane = Var("group"), Var("lane")
    simplify = Simplifier({group: (0, axis[1] // lanes - 1), lane: (0, lanes - 1)})
    values: dict[Expr, Expr] = {axis[0]: group * lanes + lane}
    assert isinstance(e.source, Buffer)
    return stride(simplify, simplify(substitute(e.source.offset(e.indices), values)), lane)


def widest(target: VectorTarget, fits: Callable[[int], bool]) -> int:
    """The largest number of float32 lanes, from a full vector down to four, for which `fits` is true; 0 if no number fits."""
    lanes = target.lanes(4)
    while lanes >= 4 and not fits(lanes):
        lanes //= 2
    return lanes if lanes >= 4 else 0


def apart(elements: int, lanes: int) -> int:
    """The distance, in elements, of rows of float32 numbers that are read together.

    It is a vector more than the row if rows at that distance would evict each other from the L1 cache.
    """
    return elements + lanes if elements * 4 % (CACHE_WAY // 2) == 0 else elements


def are_side_by_side(r: Reduction, operands: Sequence[tuple[Load, Loop]], results: Loop, lanes: int) -> bool:
    """True if vectors of `lanes`, a power of two, divide all axes, and their elements are contiguous: operands along their axes,
    stores along the axis of `results`. Other reads in the stores are contiguous or the same for all lanes."""
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
