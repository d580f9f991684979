"""Transposes of squares of elements, in registers.

    for j in n: for i in n (in vectors): y[j * s + i] = x[i * r + j]

In every stage pairs of vectors exchange elements (Eklundh, A Fast Computer Method for Matrix Transposing, 1972): first blocks of
at least 16 bytes, so that each gets to the vector and the position of its transpose; then vectors are interleaved within pieces
of 16 bytes, in one instruction each. The first stage exchanges halves of vectors, which are loaded separately and joined, without
a shuffle.

If no cache holds the result, full lines are stored past the caches: they are not read first, and the operands stay in the caches.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from ...symbolic_int import as_integer, bound
from ...tir.expr import Const, Expr, Load, Var, const, post_order, substitute
from ...tir.memory import CACHE_LINE, LAST_CACHE
from ...tir.simplify import Simplifier
from ...tir.stmt import SERIAL, VECTORIZED, For, Store
from . import ir
from .types import LANES, MEMORY, VectorType, vector

PIECE = 16
"""The bytes within which one instruction interleaves vectors."""
_LEAST = 8
"""The fewest bytes of a vector."""

Mask = tuple[int, ...]
"""The elements of a vector, as numbers in the concatenation of two others."""


@dataclass(frozen=True)
class Exchange:
    """An exchange between two vectors, `low` and `high`: they become these elements of vectors `a` and `b` of the stage before."""

    a: int
    b: int
    low: int
    high: int
    lows: Mask
    highs: Mask


def begins_with_halves(t: VectorType) -> bool:
    """True if the first stage exchanges halves of vectors, which loads of half vectors replace."""
    return t.bits * t.lanes > PIECE * 8


def is_in_pieces(t: VectorType) -> bool:
    """True if a square has more vectors than registers: pieces are exchanged first, then their elements."""
    return begins_with_halves(t) and t.bits <= 16


def piece_lanes(t: VectorType) -> int:
    """Elements of a piece."""
    return min(t.lanes, PIECE * 8 // t.bits)


def is_filled(t: VectorType, columns: int) -> bool:
    """True if `columns` columns of a square can be copied: all, as many as a piece has, or the first half."""
    if columns in (t.lanes, piece_lanes(t)):
        return True
    return 2 * columns == t.lanes and begins_with_halves(t) and not is_in_pieces(t)


def stages(t: VectorType) -> list[list[Exchange]]:
    """The stages for a square of vectors, its rows numbered from 0."""
    n, piece = t.lanes, piece_lanes(t)
    exchanges: list[list[Exchange]] = []
    group = n // piece
    while group > 1:
        block = n // 2 ** (len(exchanges) + 1)
        even = tuple(k for k in range(2 * n) if k // block % 2 == 0)
        odd = tuple(k for k in range(2 * n) if k // block % 2 == 1)
        stage = []
        for start, m in product(range(0, n // piece, group), range(group // 2)):
            a, b, low, high = (piece * (start + x) for x in (2 * m, 2 * m + 1, m, m + group // 2))
            stage += [Exchange(a + k, b + k, low + k, high + k, even, odd) for k in range(piece)]
        exchanges.append(stage)
        group //= 2
    half = piece // 2
    lows, highs = (
        tuple(start + k // 2 + first + (k % 2) * n for start in range(0, n, piece) for k in range(piece))
        for first in (0, half)
    )
    for _ in range(piece.bit_length() - 1):
        inner = [(start, k) for start in range(0, n, piece) for k in range(half)]
        exchanges.append([Exchange(s + k, s + k + half, s + 2 * k, s + 2 * k + 1, lows, highs) for s, k in inner])
    return exchanges


@dataclass(frozen=True)
class SquarePlan:
    """A copy of a square, or of some of its columns, through registers.

    Attributes:
        parts: for each vector, the source of each of its parts of equal width: the row, and the first element in it.
        stages: exchanges between the vectors, which are the rows of the transpose afterwards.
    """

    parts: tuple[tuple[tuple[int, int], ...], ...]
    stages: tuple[tuple[Exchange, ...], ...]


def plan_square(t: VectorType, columns: int) -> SquarePlan:
    """The loads and exchanges for `columns` columns of a square, see `is_filled`. A stage that is replaced by loads of parts
    costs nothing."""
    piece, left = piece_lanes(t), stages(t)
    if columns == piece < t.lanes:
        parts = [tuple((row, 0) for row in range(k, t.lanes, piece)) for k in range(piece)]
        left = [s for s in left if s[0].b < piece]
    elif begins_with_halves(t):
        first, *left = left
        half = t.lanes // 2
        targets = {x.low: ((x.a, 0), (x.b, 0)) for x in first} | {x.high: ((x.a, half), (x.b, half)) for x in first}
        parts = [targets[k] for k in range(columns)]
    else:
        parts = [((row, 0),) for row in range(t.lanes)]
    return SquarePlan(tuple(parts), tuple(tuple(x for x in s if x.a < columns) for s in left))


def lower_square(s: For, simplify: Simplifier) -> ir.CopySquare | None:
    """The copy of a square in a loop around a vectorized one; None for other loops.

    Offsets are those of `nests.flat`.
    """
    inner = s.body
    if s.kind != SERIAL or not isinstance(inner, For) or inner.kind != VECTORIZED or not isinstance(inner.body, Store):
        return None
    store = inner.body
    read, size = store.value, inner.extent
    if not isinstance(read, Load) or not isinstance(size, Const) or not isinstance(s.extent, Const):
        return None
    count, dtype = size.int_value, store.buffer.dtype
    if count not in LANES or dtype != read.source.dtype or dtype == "bool":
        return None
    if not read.indices or not store.indices:
        return None
    t = vector(MEMORY.get(dtype, dtype), count)
    columns = s.extent.int_value
    if t.bits * count < _LEAST * 8 or not is_filled(t, columns):
        return None
    target_index, here = store.indices[0], read.indices[0]
    (down, along), (right, rows) = _steps(simplify, target_index, s, inner), _steps(simplify, here, s, inner)
    if along != 1 or right != 1 or down is None or rows is None:
        return None
    zeros: dict[Any, Expr] = {s.var: const(0), inner.var: const(0)}
    target, source = substitute(target_index, zeros), substitute(here, zeros)
    streams = (
        t.bits * count == CACHE_LINE * 8 and min(bound(store.buffer.nbytes), bound(read.source.nbytes)) > LAST_CACHE
    )
    return ir.CopySquare(t, columns, store.buffer, target, down, read.source, source, rows, streams)


def _steps(simplify: Simplifier, place: Expr, *loops: For) -> tuple[int | None, ...]:
    """The strides of an offset along each loop; None for a varying one."""
    terms, _ = simplify.linear(place)
    inside = {x for atom in terms if not isinstance(atom, Var) for x in post_order(atom)}
    return tuple(None if f.var in inside else as_integer(terms.get(f.var, 0)) for f in loops)
