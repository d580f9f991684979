"""The loops of a product by Strassen's algorithm.

Rows i and i + b of a block of 2 b rows, the halves of the sum, and the halves of the columns are the quarters of three matrices::

    for blocks of rows (threads share these):
      for the block's pairs of rows:                             uneven = 1 if one is much larger than the other
      for turn in 1 + uneven:
        for the block's pairs of rows, steps of half the sum:    sums[p, row, k] = quarters of the data, added
        for blocks of columns:
          for p, rows, columns, k:                               product[row, p, o] += sums[p, row, k] * weights[p, k, o]
          for rows, columns:                                     four results = sums of the seven products; out[…] = f(result)

Rounding errors are relative to the larger row of a pair, and an infinity in one row reaches the results of the other. So a block
with a pair of very different rows is computed in two turns: pairs of the upper rows with themselves, then of the lower ones. A
NaN stays in its row, as in the plain product. A row of zeros has zeros as results, in place of rounding errors of the other row:
windows of images are padded with such rows.

Each of these is a named stage, which a strategy or a script schedules:

    size          the sum of a row's absolute values
    sums          the seven sums of a pair of rows
    product       their products with those of the weights
    result, out   four results, and their stores
    zeros         zeros in place of two results

If few rows read many weights, the sums of a band of blocks are computed first, in the workspace. Threads then share the rows of
all of its blocks, and the blocks of columns, too. A band has two turns, the second one for the blocks that need it.

The reads of a register tile in one step must not evict each other from the L1 cache: a vector of padding follows rows whose
length is a power of two, and each of the sums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ....tir.expr import (
    INDEX,
    Expr,
    Load,
    Var,
    all_of,
    cast,
    const,
    equal,
    if_then_else,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    minimum,
    not_equal,
    substitute,
)
from ....tir.forms import Reduction
from ....tir.intrinsics import abs as absolute
from ....tir.simplify import Simplifier
from ....tir.stmt import PARALLEL, SERIAL, Allocate, Buffer, For, If, Let, Scope, Stmt, Store, seq
from ...core.forms import stores_for
from ...core.lane_steps import apart
from ...core.matrix_sums import Registers, transformed
from ...core.nest_lengths import Bind
from ...core.staged import StagedNest, StagedNestBuilder
from .algorithm import DATA, MUCH_LARGER, PRODUCTS, RESULT
from .product import Product
from .tiling import Tiling

Places = dict[Expr, Expr]
"""The values of the axes of a row."""

_ZERO = const(0.0, "float32")
_LARGEST = 1e30
"""The size from which on a row, like one that is not finite, counts as much larger than any: sums and products of several could
overflow."""


def nest_of_halves(p: Product, tiling: Tiling, weights: Buffer) -> StagedNest:
    """The nest of a product with sums of `weights`, stored as (blocks of columns, products, steps, columns)."""
    nest = _Nest(p, tiling, weights)
    return nest.stages.nest(nest.build())


@dataclass(frozen=True)
class _Turn:
    """A turn of a block: its number, 0 or 1; and the place of the block's mark, 1 for a block of two turns, 0 for one."""

    number: Var
    uneven: Buffer
    block: Expr

    @property
    def mark(self) -> Expr:
        """The mark."""
        return cast(Load(self.uneven, (self.block,)), INDEX)

    @property
    def count(self) -> Expr:
        """The number of turns."""
        return self.mark + 1

    def where_needed(self, body: Stmt) -> Stmt:
        """The statements, for blocks with such a turn only."""
        return If(less(self.number, self.count), body)


@dataclass(frozen=True)
class _Pair:
    """Two rows: their axes, their numbers, their numbers within the block, and 0 if they are different, 1 if they are the
    same."""

    places: tuple[Places, Places]
    numbers: tuple[Expr, Expr]
    within: tuple[Expr, Expr]
    mark: Var


@dataclass
class _Nest:
    product: Product
    tiling: Tiling
    weights: Buffer
    stages: StagedNestBuilder = field(default_factory=StagedNestBuilder)

    @property
    def steps(self) -> int:
        """Steps of half the sum."""
        return self.product.channel[1] // 2 * self.product.windows

    @property
    def row(self) -> int:
        """The distance of the sums of a pair of rows from those of the next, in elements."""
        return apart(self.steps, self.tiling.lanes)

    @property
    def missing(self) -> bool:
        """True if the last block has fewer rows, or may have fewer."""
        return self.tiling.is_open or self.tiling.count != self.product.count

    def build(self) -> Stmt:
        """The whole nest."""
        t = self.tiling
        block, columns = Var("block"), Var("columns")
        groups = self.product.filters[1] // 2 // t.columns
        scope, blocks = (Scope.GLOBAL, t.blocks) if t.bands else (Scope.LOCAL, 1)
        data = Buffer("sums", (blocks, PRODUCTS, t.rows * self.row + t.lanes), "float32", scope)
        uneven = Buffer("uneven", (blocks,), "int32", scope)

        sizes = Buffer("size", (blocks, 2 * t.rows), "float32", scope)

        def allocated(body: Stmt) -> Stmt:
            return Allocate(data, Allocate(uneven, body))

        if not t.bands:
            turn = _Turn(Var("turn"), uneven, const(0))
            products = For(columns, groups, self._multiply(data, sizes, turn, block, columns))
            turns = For(turn.number, turn.count, seq([self._add(data, turn, block), products]))
            lines = [self._measure(sizes, const(0), block), self._compare(sizes, turn), turns]
            return For(block, t.blocks, allocated(Allocate(sizes, seq(lines))), PARALLEL)
        band, pairs, number = Var("band"), Var("pairs"), Var("turn")
        first = band * t.blocks if t.bands != 1 else const(0)
        count, bind = self._blocks_of(first)
        compared, multiplied = _Turn(number, uneven, pairs), _Turn(number, uneven, block)
        product = multiplied.where_needed(self._multiply(data, sizes, multiplied, first + block, columns))
        both = seq(
            [
                For(pairs, count, self._add(data, compared, first + pairs, PARALLEL), PARALLEL),
                For(columns, groups, For(block, count, product, PARALLEL), PARALLEL),
            ]
        )
        lines = [
            For(pairs, count, self._measure(sizes, pairs, first + pairs, PARALLEL), PARALLEL),
            For(pairs, count, self._compare(sizes, compared)),
            For(number, 2, both),
        ]
        body = bind(seq(lines))
        return allocated(Allocate(sizes, For(band, t.bands, body) if t.bands != 1 else body))

    def _blocks_of(self, first: Expr) -> tuple[int, Bind]:
        """The number of blocks of the band whose first block has the number `first`; the last of an open number of bands has the rest."""
        t = self.tiling
        if not t.is_open:
            return t.blocks, lambda body: body
        return self.stages.lengths.add("blocks", t.blocks, const(-(-self.product.count // (2 * t.rows))) - first)

    # -- rows ----------------------------------------------------------------------------------------------------------

    def _located(self, row: Expr, body: Callable[[Places], Stmt]) -> Stmt:
        """Statements for a row, with the values of its axes. Rows behind the last one are that row again."""
        simplify = Simplifier({})
        row = minimum(row, const(self.product.count - 1)) if self.missing else row
        positions: Places = {}
        values: list[tuple[Var, Expr]] = []
        rest = row
        for level, (v, n) in enumerate(reversed(self.product.rows)):
            own = Var(v.name)
            outermost = level == len(self.product.rows) - 1
            values.append((own, simplify(rest if outermost else rest % n)))
            positions[v] = own
            rest = rest // n
        nest = body(positions)
        for own, value in values:
            nest = Let(own, value, nest)
        return nest

    def _pair(self, turn: _Turn, block: Expr, row: Var, body: Callable[[_Pair], Stmt]) -> Stmt:
        """Statements for a pair of rows of a turn."""
        mark, rows, number = Var("mark"), self.tiling.rows, self._number(block, const(0))
        same = not_equal(mark, 0)
        within = (
            row + if_then_else(logical_and(same, equal(turn.number, 1)), rows, 0),
            row + if_then_else(logical_and(same, equal(turn.number, 0)), 0, rows),
        )
        upper, lower = (number + n for n in within)

        def for_upper(u: Places) -> Stmt:
            return self._located(lower, lambda w: body(_Pair((u, w), (upper, lower), within, mark)))

        return Let(mark, turn.mark, self._located(upper, for_upper))

    def _number(self, block: Expr, row: Expr) -> Expr:
        return block * (2 * self.tiling.rows) + row

    # -- data ----------------------------------------------------------------------------------------------------------

    def _measure(self, sizes: Buffer, number: Expr, block: Expr, kind: str = SERIAL) -> Stmt:
        """The sizes of the rows of a block."""
        row = Var("row")

        def stored(positions: Places) -> Stmt:
            return self._size(sizes, (number, row), positions)

        return For(row, 2 * self.tiling.rows, self._located(self._number(block, row), stored), kind)

    def _compare(self, sizes: Buffer, turn: _Turn) -> Stmt:
        """Marks a block with a pair of very different rows."""
        row = Var("row")
        upper, lower = Load(sizes, (turn.block, row)), Load(sizes, (turn.block, row + self.tiling.rows))
        nearly = logical_and(less_equal(upper, lower * MUCH_LARGER), less_equal(lower, upper * MUCH_LARGER))
        nothing = logical_or(equal(upper, _ZERO), equal(lower, _ZERO))
        finite = less(upper + lower, const(_LARGEST, "float32"))  # false for NaN as well
        even = logical_and(logical_or(nearly, nothing), finite)
        marked = If(logical_not(even), Store(turn.uneven, (turn.block,), const(1, "int32")))
        return seq([Store(turn.uneven, (turn.block,), const(0, "int32")), For(row, self.tiling.rows, marked)])

    def _size(self, sizes: Buffer, indices: tuple[Expr, ...], positions: Places) -> Stmt:
        """The size of a row."""
        p = self.product
        inner = tuple((Var(x.name), n) for x, n in (*p.taps, p.channel))
        own: Places = {x: new for (x, _), (new, _) in zip((*p.taps, p.channel), inner)}
        acc = Buffer("acc", (), "float32", Scope.LOCAL)
        value = absolute(substitute(p.data, {**positions, **own}))
        store = Store(sizes, indices, acc.element())
        form = Reduction((), acc, const(0.0, "float32"), inner, acc.element() + value, (store,))
        return self.stages.add("size", form)

    def _add(self, data: Buffer, turn: _Turn, block: Expr, kind: str = SERIAL) -> Stmt:
        """The sums of a block; in a block that threads share, only for turns that it has."""
        row = Var("row")
        nest = self._pair(turn, block, row, lambda pair: self._sums(data, turn, row, pair))
        return For(row, self.tiling.rows, turn.where_needed(nest) if kind == PARALLEL else nest, kind)

    def _sums(self, data: Buffer, turn: _Turn, row: Var, pair: _Pair) -> Stmt:
        p, lanes = self.product, self.tiling.lanes
        group, v = Var("group"), Var("v")
        taps = tuple((Var(x.name), n) for x, n in p.taps)
        half = p.channel[1] // 2
        lane = group * lanes + v
        shared = Registers("part", lanes, DATA)

        def quarter(n: int) -> Expr:
            channel = lane + half if n % 2 else lane
            own: Places = {x: tap for (x, _), (tap, _) in zip(p.taps, taps)}
            return substitute(p.data, {**pair.places[n // 2], **own, p.channel[0]: channel})

        place: Expr = const(0)
        for tap, n in taps:
            place = place * n + tap
        place = row * self.row + place * half + lane
        stores = transformed(DATA, quarter, lambda n, e: Store(data, (turn.block, const(n), place), e), shared, v)
        return Allocate(shared.buffer, self.stages.add_map("sums", [*taps, (group, half // lanes), (v, lanes)], stores))

    # -- products and results ------------------------------------------------------------------------------------------

    def _multiply(self, data: Buffer, sizes: Buffer, turn: _Turn, block: Expr, columns: Var) -> Stmt:
        """The products of a block with a block of columns, and the results."""
        t = self.tiling
        product = Buffer("product", (t.rows, PRODUCTS, t.columns), "float32", Scope.LOCAL)
        row = Var("row")
        results = self._pair(turn, block, row, lambda pair: self._results(product, sizes, turn, row, columns, pair))
        body = seq([self._products(data, turn.block, product, columns), For(row, t.rows, results)])
        return Allocate(product, body)

    def _products(self, data: Buffer, number: Expr, product: Buffer, columns: Var) -> Stmt:
        t = self.tiling
        p, row, o, k = Var("p"), Var("row"), Var("o"), Var("k")
        acc = Buffer("acc", (), "float32", Scope.LOCAL)
        read = Load(data, (number, p, row * self.row + k))
        form = Reduction(
            ((p, PRODUCTS), (row, t.rows), (o, t.columns)),
            acc,
            const(0.0, "float32"),
            ((k, self.steps),),
            acc.element() + read * Load(self.weights, (columns, p, k, o)),
            (Store(product, (row, p, o), acc.element()),),
        )
        return self.stages.add("product", form)

    def _results(self, product: Buffer, sizes: Buffer, turn: _Turn, row: Var, columns: Var, pair: _Pair) -> Stmt:
        """Four results of a pair of rows from seven products, for all vectors of columns."""
        t, lanes = self.tiling, self.tiling.lanes
        group, v = Var("group"), Var("v")
        shared = Registers("part", lanes, RESULT)
        done = Buffer("result", (len(RESULT), lanes), "float32", Scope.REGISTER)
        lane = group * lanes + v
        stores = transformed(
            RESULT,
            lambda n: Load(product, (row, const(n), lane)),
            lambda n, e: Store(done, (const(n), v), e),
            shared,
            v,
        )
        half = self.product.filters[1] // 2
        lines: list[Stmt] = [self.stages.add_map("result", [(v, lanes)], stores)]
        for within, first in zip(pair.within, (0, 2)):
            cleared = [Store(done, (const(first + n), v), _ZERO) for n in (0, 1)]
            nothing = equal(Load(sizes, (turn.block, within)), _ZERO)
            lines.append(If(nothing, self.stages.add_map("zeros", [(v, lanes)], cleared)))
        for positions, number, first in zip(pair.places, pair.numbers, (0, 2)):
            outs = [
                self.stages.add_map(
                    "out",
                    [(v, lanes)],
                    stores_for(
                        self.product.form,
                        Load(done, (const(first + n), v)),
                        {**positions, self.product.filters[0]: columns * t.columns + (lane + half if n else lane)},
                    ),
                )
                for n in (0, 1)
            ]
            conditions = [less(number, self.product.count)] if self.missing else []
            if (
                first
            ):  # a row paired with itself is stored once: an operand of the epilogue may share memory with the result
                conditions.append(equal(pair.mark, 0))
            whole = seq(outs)
            lines.append(If(all_of(conditions), whole) if conditions else whole)
        return For(group, t.columns // lanes, Allocate(done, Allocate(shared.buffer, seq(lines))))
