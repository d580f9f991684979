"""Sums of products of words in matrix tiles: the axes of the tiles, and an estimate of cycles.

A tile has up to 16 rows of 64 bytes. One instruction (AMX: TDPBUSD and others, TDPBF16PS) adds to a tile of 16 x 16 sums the
products of a tile of 16 rows of 16 words, from the data, and of one of 16 words of 16 columns, from the weights. A block has two
tiles of rows and two of columns: four instructions for four loads. A block with a single tile of rows has up to four tiles of
columns.

Rows are an axis on which only the data's indices depend, columns one on which only the weights' depend, and the steps of the sum
an axis along which the data are contiguous. If the rows are no multiple of 16, tiles have equal heights, and the last one
overlaps the one before. The last columns may be zeros that pad the weights; otherwise the last tile of columns overlaps the one before. Results are contiguous along columns, or along rows: then the
sums of a tile are transposed before the rest is computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from ...tir.bf16_dot import DOT_PAIR, DTYPE
from ...tir.expr import Binary, Call, Const, Expr, Load, Var, substitute
from ...tir.int8_dot import DOTS
from ...tir.simplify import Simplifier
from ...tir.stmt import Buffer
from ...tir.vector_target import VectorTarget
from ..core.affine import simplifier, stride
from ..core.block_sums import LONGEST
from ..core.forms import Loop, Reduction
from ..core.products import loops_of_one
from ..cost.machine import GAIN, REGISTER_TILE_PEAK, TILE_LATENCY, TILE_LOAD, TILE_PRODUCT, TILE_STORE, TOGETHER
from ..cost.map_cycles import square_cycles
from ..cost.tile_choice import is_padded
from .dot_kinds import WordKind

WORDS = 16
"""Columns of a tile, and words in one of its rows."""


@dataclass(frozen=True)
class Segment:
    """Some blocks along an axis: the first begins at `start`, each has `tiles` tiles.

    `skip`: rows or columns at the beginning of the first tile that another block computes; `valid`: columns of the last tile
    that are results.
    """

    start: int
    blocks: int
    tiles: int
    skip: int = 0
    valid: int = WORDS


@dataclass(frozen=True)
class TiledAxis:
    """An axis of results in tiles of `size`. `pair`: another axis, whose neighbours are the tiles of a block; None: tiles of a
    block follow each other along the axis itself."""

    axis: Loop
    size: int
    pair: Loop | None
    segments: tuple[Segment, ...]

    def place(self, s: Segment, block: Expr, tile: Expr, within: Expr) -> dict[Expr, Expr]:
        """The position of an element of a tile, for each axis."""
        step = 1 if self.pair else self.size
        first = block * (s.tiles * step) + tile * step + s.start
        return {self.axis[0]: within, self.pair[0]: first} if self.pair else {self.axis[0]: first + within}

    @property
    def variables(self) -> list[Var]:
        """The axes that the tiles divide."""
        return [self.axis[0], *([self.pair[0]] if self.pair else [])]

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return sum(s.blocks for s in self.segments)


@dataclass(frozen=True)
class MatrixTiling:
    """A sum in matrix tiles.

    Attributes:
        name: the function that sums the products of two words.
        data, weights: the operands; `numbers` are the dtypes of the numbers in their words.
        rows, columns: the axes of the results.
        summed, steps: the reduction axis of the tiles, and the number of its words in a tile.
        apart: the distance of rows of the data, in words.
        transposed: results are contiguous along rows, not along columns.
        cycles: the estimated cycles.
    """

    name: str
    data: Load
    weights: Load
    numbers: tuple[str, str]
    rows: TiledAxis
    columns: TiledAxis
    summed: Loop
    steps: int
    apart: int
    transposed: bool
    cycles: float

    def additions(self, r: Reduction) -> int:
        """The number of successive additions to an element of a tile."""
        return prod(n for _, n in r.inner) // self.steps

    @property
    def label(self) -> str:
        """The name of the tiling among others for the same sum, without names of loops."""
        r, c = self.rows.segments[0].tiles, self.columns.segments[0].tiles
        return f"{r} x {c} tiles of {self.rows.size} rows, {self.steps} words"


def choose_matrix_tiling(r: Reduction, target: VectorTarget) -> MatrixTiling | None:
    """The best tiling of a sum; None if there are no matrix tiles for it, or vectors are as fast.

    Sums of floats with too many successive additions for one register stay in vectors, which `block_sums` divides.
    """
    word_operands = _words(r)
    if word_operands is None or _height(word_operands[0], target) < 2 or target.lanes(4) != WORDS:
        return None
    tilings = (t for t in _tilings(r, word_operands, target) if t.name != DOT_PAIR or t.additions(r) <= LONGEST)
    best = min(tilings, key=lambda t: (t.cycles, t.apart), default=None)
    return best if best is not None and best.cycles < GAIN * vector_cycles(r, best, target) else None


def vector_cycles(r: Reduction, t: MatrixTiling, target: VectorTarget) -> float:
    """Cycles of the same sum in vectors, with the instructions of a dot product; a multiply-add for each if the processor has no
    such instruction."""
    instruction = target.dot(t.name)
    each = instruction.cost if instruction is not None else 1
    return each * r.work / (WORDS * target.multiply_adds * REGISTER_TILE_PEAK)


def has_tiles_for(r: Reduction, target: VectorTarget) -> bool:
    """True if the processor has matrix tiles of the words of a sum of products."""
    word_operands = _words(r)
    return word_operands is not None and target.lanes(4) == WORDS and _height(word_operands[0], target) > 1


def filled_count(kind: WordKind, count: int, target: VectorTarget) -> int:
    """The number of words to which zeros pad a sum of `count` words: the fewest that are full tiles of equal width, unless
    `count` divides well."""
    if count <= WORDS or not has_tiles(kind, target):
        return count
    parts = -(-count // WORDS)
    steps = -(-count // parts)
    return count if 4 * _divisor(count) >= 3 * steps else parts * steps


def has_tiles(kind: WordKind, target: VectorTarget) -> bool:
    """True if the processor has matrix tiles of such words."""
    return target.lanes(4) == WORDS and any(_height(name, target) > 1 for name in kind.meanings)


def _divisor(count: int) -> int:
    """The largest width of a tile, in words, that divides the words of a sum."""
    return next(n for n in range(WORDS, 0, -1) if count % n == 0)


def _height(name: str, target: VectorTarget) -> int:
    """The rows of a tile of such words; 1 if the processor has no tiles of them."""
    return target.pair_tiles if name == DOT_PAIR else target.byte_tiles if name in DOTS else 1


def _words(r: Reduction) -> tuple[str, Load, Load] | None:
    """The function of a sum of products of words, and its operands; None for other sums."""
    e = r.update
    if r.guards or not isinstance(e, Binary) or e.op != "+" or not isinstance(r.init, Const) or r.init.value:
        return None
    if not isinstance(e.a, Load) or e.a.source is not r.acc or not isinstance(e.b, Call):
        return None
    if e.b.name != DOT_PAIR and e.b.name not in DOTS:
        return None
    a, b = e.b.args
    if not all(isinstance(x, Load) and isinstance(x.source, Buffer) and x.source is not r.acc for x in (a, b)):
        return None
    assert isinstance(a, Load) and isinstance(b, Load)
    return e.b.name, a, b


def _tilings(r: Reduction, word_operands: tuple[str, Load, Load], target: VectorTarget) -> Iterator[MatrixTiling]:
    """All tilings of the sum, whatever their cycles."""
    name, first, second = word_operands
    height = _height(name, target)
    kinds = (DTYPE, DTYPE) if name == DOT_PAIR else DOTS[name]
    for data, weights, numbers in ((first, second, kinds), (second, first, kinds[::-1])):
        only, across = loops_of_one(r.loops, data, weights), loops_of_one(r.loops, weights, data)
        for column, row, summed in product(across, only, r.inner):
            columns = _columns(r, column, [x for x in across if x is not column])
            rows = _rows(row, [x for x in only if x is not row], height)
            steps = _divisor(summed[1])
            wide = len(rows.segments) == 1 and rows.segments[0].tiles == 1
            columns = [c for c in columns if wide or c.segments[0].tiles <= 2]
            places = _Places(r, rows, columns[0]) if columns else None
            apart = places.apart(data, weights, summed[0], steps) if places is not None else 0
            transposed = False
            if places is None or not apart or not (places.are_along_columns or (transposed := places.are_along_rows)):
                continue
            for c in columns:
                cycles = _cycles(r, rows, c, steps, transposed, target)
                yield MatrixTiling(name, data, weights, numbers, rows, c, summed, steps, apart, transposed, cycles)


def _rows(axis: Loop, others: list[Loop], most: int) -> TiledAxis:
    """The fewest tiles of rows of equal height; if there is a single one, the second tile of a block is along another axis."""
    _, extent = axis
    count = -(-extent // most)
    height = -(-extent // count)
    if count != 1:
        back = count * height - extent
        return TiledAxis(axis, height, None, _segments(count, 2, height, back))
    pair = max((x for x in others if x[1] > 1), key=lambda x: x[1], default=None)
    return TiledAxis(axis, height, pair, _segments(pair[1], 2, 1) if pair else (Segment(0, 1, 1),))


def _columns(r: Reduction, axis: Loop, others: list[Loop]) -> list[TiledAxis]:
    """Tiles of columns, in blocks of one, two or four; none if a single one would be beyond the weights."""
    v, extent = axis
    count = -(-extent // WORDS)
    if extent % WORDS and not is_padded(r, v, count * WORDS):
        full, left = divmod(extent, WORDS)
        last = Segment(extent - WORDS, 1, 1, WORDS - left)
        groups = [n for n in (1, 2, TOGETHER) if n <= full]
        return [TiledAxis(axis, WORDS, None, (*_segments(full, n, WORDS), last)) for n in groups]
    if count != 1 or extent < WORDS or not others:
        valid = extent - (count - 1) * WORDS
        groups = [n for n in (1, 2, TOGETHER) if n <= count]
        return [TiledAxis(axis, WORDS, None, _segments(count, n, WORDS, 0, valid)) for n in groups]
    pair = max(others, key=lambda x: x[1])
    return [TiledAxis(axis, WORDS, pair, _segments(pair[1], n, 1)) for n in (1, 2, TOGETHER) if n <= pair[1]]


def _segments(count: int, group: int, step: int, back: int = 0, valid: int = WORDS) -> tuple[Segment, ...]:
    """`count` tiles in blocks of `group`. The last block begins `back` rows earlier, and its last tile has `valid` columns."""
    whole, rest = divmod(count, group)
    parts = [Segment(0, whole, group)] if whole else []
    if rest:
        parts.append(Segment(whole * group * step, 1, rest))
    if back or valid < WORDS:
        last = parts.pop()
        if last.blocks > 1:
            parts.append(Segment(last.start, last.blocks - 1, last.tiles))
        start = last.start + (last.blocks - 1) * last.tiles * step - back
        parts.append(Segment(start, 1, last.tiles, back, valid))
    return tuple(parts)


class _Places:
    """The order in memory of the elements of a tile."""

    def __init__(self, r: Reduction, rows: TiledAxis, columns: TiledAxis) -> None:
        self.r, self.rows, self.columns = r, rows, columns
        self.base, self.within = Var("base"), Var("within")

    def _step(
        self, b: Buffer, indices: Sequence[Expr], values: dict[Expr, Expr], extent: int, bases: int
    ) -> int | None:
        """The distance of neighbours `within` a tile, for all bases; None if it varies."""
        ranges = [(self.base, bases), (self.within, extent)]
        simplify: Simplifier = simplifier(self.r.loops, self.r.inner, ranges)
        return stride(simplify, substitute(b.offset(indices), values), self.within)

    def _down(self, b: Buffer, indices: Sequence[Expr]) -> int | None:
        x, extent = self.rows.axis
        return self._step(b, indices, {x: self.base + self.within}, self.rows.size, extent - self.rows.size + 1)

    def _across(self, b: Buffer, indices: Sequence[Expr], padded: bool) -> bool:
        """True if the columns of each tile are contiguous: all that it has if they are `padded`, or those that are results."""
        v, _ = self.columns.axis
        for s in self.columns.segments:
            if self.columns.pair is not None:
                return self._step(b, indices, {v: self.within}, WORDS, 1) == 1
            full = s.blocks * s.tiles - (s.valid < WORDS and not padded)
            whole: dict[Expr, Expr] = {v: self.base * WORDS + self.within + s.start}
            last: dict[Expr, Expr] = {v: self.within + s.start + full * WORDS}
            if full and self._step(b, indices, whole, WORDS, full) != 1:
                return False
            if full < s.blocks * s.tiles and s.valid > 1 and self._step(b, indices, last, s.valid, 1) != 1:
                return False
        return True

    def apart(self, data: Load, weights: Load, summed: Var, steps: int) -> int:
        """The distance of rows of the data, in words; 0 if operands are not in the order of tiles."""
        assert isinstance(data.source, Buffer) and isinstance(weights.source, Buffer)
        k: dict[Expr, Expr] = {summed: self.base * steps + self.within}
        sums = dict(self.r.inner)[summed] // steps
        row = self._down(data.source, data.indices)
        deep = self._step(weights.source, weights.indices, k, steps, sums)
        if not row or row < 0 or not deep or deep < 0 or self._step(data.source, data.indices, k, steps, sums) != 1:
            return 0
        return row if self._across(weights.source, weights.indices, padded=True) else 0

    @property
    def are_along_columns(self) -> bool:
        """True if results are contiguous along columns."""
        return all(self._across(s.buffer, s.indices, padded=False) for s in self.r.stores)

    @property
    def are_along_rows(self) -> bool:
        """True if results are contiguous along rows."""
        return all(self._down(s.buffer, s.indices) == 1 for s in self.r.stores)


def _cycles(
    r: Reduction, rows: TiledAxis, columns: TiledAxis, steps: int, transposed: bool, target: VectorTarget
) -> float:
    """Cycles of all blocks."""
    divided = {*rows.variables, *columns.variables}
    times = prod(n for v, n in r.loops if v not in divided)
    sums = prod(n for _, n in r.inner) // steps
    cycles = _cycles_of_blocks(rows.segments, columns.segments, rows.size, steps, sums)
    if transposed:
        tiles = prod(sum(s.blocks * s.tiles for s in axis.segments) for axis in (rows, columns))
        cycles += tiles * rows.size * WORDS * square_cycles(WORDS, target)
    return times * cycles


def _cycles_of_blocks(
    rows: Sequence[Segment], columns: Sequence[Segment], height: int, steps: int, sums: float
) -> float:
    """Cycles of blocks of tiles of `height` rows and `steps` words, each with `sums` additions to an element."""
    high, deep = height / WORDS, steps / WORDS
    total = 0.0
    for p, q in product(rows, columns):
        tile_product_cycles = p.tiles * q.tiles * (0.5 + 0.5 * high) * TILE_PRODUCT
        loaded = (p.tiles * high + q.tiles * deep) * TILE_LOAD
        block = (
            sums * max(tile_product_cycles, loaded, TILE_LATENCY) + p.tiles * q.tiles * high * TILE_STORE + TILE_LATENCY
        )
        total += p.blocks * q.blocks * block
    return total


def matrix_cycles(rows: int, columns: int, words: int, target: VectorTarget) -> float:
    """Cycles of `rows` by `columns` sums of `words` products of pairs, in the best blocks of full tiles along columns and words."""
    height = -(-rows // -(-rows // target.pair_tiles))
    count, tiles, sums = -(-rows // height), -(-columns // WORDS), -(-words // WORDS)
    group = 2 if count > 1 else 1
    own = _segments(count, group, height)
    across = (_segments(tiles, n, WORDS) for n in ((1, 2) if group > 1 else (1, 2, TOGETHER)) if n <= tiles)
    return min(_cycles_of_blocks(own, segments, height, WORDS, sums) for segments in across)
