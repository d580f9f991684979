"""The vectorized loops of a map.

Stores are contiguous along such a loop, and reads are contiguous or constant. If conditions on it choose an operand (padding,
concatenation), it is cut into loops without them. If they are on a loop around it, too (blocks of channels with a part of one
operand and a part of another), that loop is cut into ranges first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from ....symbolic_int import ascending, bound, is_known
from ....tir import dtypes
from ....tir.expr import Expr, Load, Select, Var, const, post_order, substitute
from ....tir.simplify import Simplifier
from ...core.affine import depends, loads, simplifier, stride
from ...core.block import Block
from ...core.forms import Map
from ...core.guards import changes
from ...cost.machine import LOOKED_AT, NARROWEST_VECTOR, TOGETHER
from ...primitives import fuse, if_convert, loop_partition, untraced
from .ragged_axis import uneven_axis
from .shared_reads import interleaved_channels, rows_that_share


def is_interleaved(m: Map, extent: int) -> bool:
    """True for copies in rows of so few elements that compilers vectorize them best, by vectors of the operand's rows.

    For 4 × 2 or 8 × 1 bytes they copy twice as many elements in a second as squares of 8 bytes.
    """
    size = max(dtypes.itemsize(s.buffer.dtype) for s in m.stores)
    return extent * size == NARROWEST_VECTOR // 2 and size < 4 and all(isinstance(s.value, Load) for s in m.stores)


@dataclass(frozen=True)
class Vectors:
    """The vectorized loop.

    Attributes:
        along: its variable.
        cuts: the steps at which conditions change, with its beginning and end.
        period: the vectors of a period.
        is_fused: true if the loop is the last two, fused.
        rows: another loop, and the number of its steps that share reads.
        channels: the number of interleaved channels, if these are the steps of `rows`.
        is_converted: true if conditions on the loop, which change from lane to lane, become choices between two values.
    """

    along: Var
    cuts: list[int]
    period: int
    is_fused: bool = False
    rows: tuple[Var, int] | None = None
    channels: int = 0
    is_converted: bool = False


@dataclass(frozen=True)
class Ranges:
    """The ranges of a loop's steps, and the vectors in each; None: the elements of the range are computed one by one."""

    loop: Var
    ranges: dict[tuple[int, int], Vectors | None]


def choose_ranges(m: Map, lanes: int) -> Ranges | None:
    """The ranges of a loop between which conditions on it and on the vectorized loop change; None without such conditions."""
    values = [s.value for s in m.stores]
    simplify = simplifier(m.loops)
    along = [v for v, n in m.loops if bound(n) >= 4 and _is_contiguous(m, simplify, v)]
    conditions = [e.cond for e in post_order(*values) if isinstance(e, Select) and e.lazy]
    for v in along:
        on_both = [c for c in conditions if depends(c, v)]
        for w, steps in m.loops:
            if w is v or not is_known(steps) or steps > LOOKED_AT or not any(depends(c, w) for c in on_both):
                continue
            ranges = _ranges_of(m, v, w, steps)
            with untraced():
                maps = [b.result() for b in loop_partition(Block.of(m), w, ranges)] if ranges else []
            vectors = {over: choose_vectors(x, lanes) for over, x in zip(ranges, maps, strict=True)}
            if any(vectors.values()):
                return Ranges(w, vectors)
    return None


def _ranges_of(m: Map, v: Var, w: Var, steps: int) -> list[tuple[int, int]]:
    """The ranges of steps of `w` in each of which conditions change at the same steps of `v`; an empty list if there are too
    many."""
    simplify, extent = simplifier(m.loops), dict(m.loops)[v]
    values = [s.value for s in m.stores]
    cuts = [
        changes(simplify, [simplify(substitute(e, {w: const(k)})) for e in values], v, extent) for k in range(steps)
    ]
    first = [0, *(k for k in range(1, steps) if cuts[k] != cuts[k - 1]), steps]
    return list(pairwise(first)) if 2 < len(first) <= TOGETHER + 1 else []


def _is_contiguous(m: Map, simplify: Simplifier, v: Var) -> bool:
    """True if all stores are contiguous along a loop."""
    return all(stride(simplify, s.buffer.offset(s.indices), v) == 1 for s in m.stores)


def choose_vectors(m: Map, lanes: int, is_converted: bool = False) -> Vectors | None:
    """Vectors along one loop, or along the last two, fused, if the last one is shorter than a vector; None if no loop is
    vectorized. `is_converted`: conditions on the last loop become choices first."""
    if is_converted and not (
        m.loops and any(isinstance(e, Select) and e.lazy for e in post_order(*(s.value for s in m.stores)))
    ):
        return None
    if len(m.loops) > 1 and bound(m.loops[-1][1]) < lanes:
        (outer, _), (inner, _) = m.loops[-2:]
        with untraced():
            fused = _converted(fuse(Block.of(m), outer, inner), is_converted)
        vectors = _vector_loop(fused, lanes, is_fused=True)
        if vectors is not None and vectors.along is fused.loops[-1][0] and bound(fused.loops[-1][1]) >= lanes:
            return replace(vectors, is_fused=True, is_converted=is_converted)
    with untraced():
        vectors = _vector_loop(_converted(Block.of(m), is_converted), lanes)
    if vectors is None or not is_converted:
        return vectors
    return replace(vectors, is_converted=True) if vectors.along is m.loops[-1][0] else None


def _converted(b: Block[Map], is_converted: bool) -> Map:
    """The map of a block, with choices in place of conditions on its last loop, or as it is."""
    m = (if_convert(b, b.loops[-1][0]) if is_converted else b).result()
    assert isinstance(m, Map)
    return m


def _vector_loop(m: Map, lanes: int, is_fused: bool = False) -> Vectors | None:
    """The loop along which every store is contiguous and every read contiguous, constant or periodic; None without one."""
    best: tuple[int, Vectors] | None = None
    simplify = simplifier(m.loops)
    single: dict[Expr, Expr] = {x: const(0) for x, n in m.loops if n == 1}
    values = [substitute(s.value, single) for s in m.stores]
    for v, extent in m.loops:
        if bound(extent) < 4 or not _is_contiguous(m, simplify, v):
            continue
        positions = [simplify(e.source.offset(e.indices)) for e in loads(*(s.value for s in m.stores))]
        strides = [stride(simplify, place, v) for place in positions]
        # Compilers interleave a few rows of bytes themselves, if these are not vectors already.
        size = max(dtypes.itemsize(s.buffer.dtype) for s in m.stores)
        is_left = bound(extent) * size < NARROWEST_VECTOR // 2 or is_interleaved(m, extent)
        if is_left and any(s not in (0, 1) for s in strides):
            continue
        uneven = [p for p, s in zip(positions, strides) if s is None]
        axis = uneven_axis(uneven, v, m.loops, lanes, is_fused)
        cuts = changes(simplify, values, v, extent)
        if cuts is None or axis is None:
            continue
        cuts = ascending({*cuts, *axis.cuts})
        cost = sum(1 for s in strides if s not in (0, 1))
        if best is None or cost < best[0]:
            channels = interleaved_channels(m, v)
            rows = channels or rows_that_share(m, uneven, v)
            best = (cost, Vectors(v, cuts, axis.period, rows=rows, channels=channels[1] if channels else 0))
    return best[1] if best is not None else None
