"""The loops of a product by Strassen's algorithm.

Rows i and i + b of a block of 2 b rows, the halves of the sum, and the halves of the columns are the quarters of three matrices::

    for blocks of rows (threads share these):
      for the block's pairs of rows, steps of half the sum:    sums[p, row, k] = quarters of the data, added
      for blocks of columns:
        for p, rows, columns, k:                               product[row, p, o] += sums[p, row, k] * weights[p, k, o]
        for rows, columns:                                     four results = sums of the seven products; out[…] = f(result)

Each of these is a stage with a name, which a strategy schedules, or a script:

    sums          the seven sums of a pair of rows
    product       their products with those of the weights
    result, out   four results, and what is stored of each

Where few rows read many weights, the sums of a band of blocks are made first, to the workspace, and threads share the blocks of
columns, too.

What a tile of registers reads in one step must not put each other out of the nearest cache: a vector lies between rows whose length
is a power of two, and between the sums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ...tir.expr import Expr, Load, Var, const, less, minimum, substitute
from ...tir.forms import Map, Reduction
from ...tir.simplify import Simplifier
from ...tir.stmt import PARALLEL, Allocate, Buffer, For, If, Let, Scope, Stmt, Store, seq
from ..forms import stores_for
from ..lane_steps import apart
from ..matrix_sums import Registers, transformed
from ..staged import StagedNest, StagedNestBuilder
from .algorithm import DATA, PRODUCTS, RESULT
from .product import Product
from .tiling import Tiling

Places = dict[Expr, Expr]
"""What stands for the axes of a row."""


def nest_of_halves(p: Product, tiling: Tiling, weights: Buffer) -> StagedNest:
    """The nest of a product with sums of `weights`, stored as (blocks of columns, products, steps, columns)."""
    nest = _Nest(p, tiling, weights)
    return nest.stages.nest(nest.build())


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
        """Elements from the sums of a pair of rows to those of the next."""
        return apart(self.steps, self.tiling.lanes)

    @property
    def missing(self) -> bool:
        """True if the last block has fewer rows."""
        return self.tiling.count != self.product.count

    def build(self) -> Stmt:
        """The whole nest."""
        t = self.tiling
        block, columns = Var("block"), Var("columns")
        groups = self.product.filters[1] // 2 // t.columns
        shape = (t.blocks if t.bands else 1, PRODUCTS, t.rows * self.row + t.lanes)
        data = Buffer("sums", shape, "float32", Scope.GLOBAL if t.bands else Scope.LOCAL)
        if not t.bands:
            products = For(columns, groups, self._multiply(data, const(0), block, columns))
            body = seq([self._add(data, const(0), block), products])
            return For(block, t.blocks, Allocate(data, body), PARALLEL)
        band, pairs = Var("band"), Var("pairs")
        first = band * t.blocks if t.bands > 1 else const(0)
        products = For(block, t.blocks, self._multiply(data, block, first + block, columns), PARALLEL)
        body = seq(
            [
                For(pairs, t.blocks, self._add(data, pairs, first + pairs), PARALLEL),
                For(columns, groups, products, PARALLEL),
            ]
        )
        return Allocate(data, For(band, t.bands, body) if t.bands > 1 else body)

    # -- rows ----------------------------------------------------------------------------------------------------------

    def _located(self, row: Expr, body: Callable[[Places], Stmt]) -> Stmt:
        """Statements for a row, with what stands for each of its axes."""
        simplify = Simplifier({})
        places: Places = {}
        values: list[tuple[Var, Expr]] = []
        rest = row
        for at, (v, n) in enumerate(reversed(self.product.rows)):
            own = Var(v.name)
            outermost = at == len(self.product.rows) - 1
            values.append((own, simplify(rest if outermost else rest % n)))
            places[v] = own
            rest = rest // n
        nest = body(places)
        for own, value in values:
            nest = Let(own, value, nest)
        return nest

    def _pair(self, block: Expr, row: Var, body: Callable[[Places, Places], Stmt]) -> Stmt:
        """Statements for a pair of rows. In place of rows behind the last, that one is taken again."""

        def place(n: Expr) -> Expr:
            return minimum(n, self.product.count - 1) if self.missing else n

        upper, lower = self._numbers(block, row)
        return self._located(place(upper), lambda u: self._located(place(lower), lambda w: body(u, w)))

    def _numbers(self, block: Expr, row: Var) -> tuple[Expr, Expr]:
        upper = block * (2 * self.tiling.rows) + row
        return upper, upper + self.tiling.rows

    # -- data ----------------------------------------------------------------------------------------------------------

    def _add(self, data: Buffer, at: Expr, block: Expr) -> Stmt:
        """The sums of a block, stored at a number."""
        row = Var("row")
        nest = self._pair(block, row, lambda upper, lower: self._sums(data, at, row, upper, lower))
        return For(row, self.tiling.rows, nest)

    def _sums(self, data: Buffer, at: Expr, row: Var, upper: Places, lower: Places) -> Stmt:
        p, lanes = self.product, self.tiling.lanes
        group, v = Var("group"), Var("v")
        taps = tuple((Var(x.name), n) for x, n in p.taps)
        half = p.channel[1] // 2
        lane = group * lanes + v
        shared = Registers("part", DATA, lanes)

        def quarter(n: int) -> Expr:
            channel = lane + half if n % 2 else lane
            own: Places = {x: tap for (x, _), (tap, _) in zip(p.taps, taps)}
            return substitute(p.data, {**(lower if n > 1 else upper), **own, p.channel[0]: channel})

        place: Expr = const(0)
        for tap, n in taps:
            place = place * n + tap
        place = row * self.row + place * half + lane
        stores = transformed(DATA, quarter, lambda n, e: Store(data, (at, const(n), place), e), shared, v)
        return Allocate(shared.buffer, self._map("sums", [*taps, (group, half // lanes), (v, lanes)], stores))

    def _map(self, name: str, loops: list[tuple[Var, int]], stores: tuple[Store, ...]) -> Stmt:
        """The place of a stage that makes elements of its own in every step."""
        return self.stages.add(name, Map(tuple(loops), stores))

    # -- products and results ------------------------------------------------------------------------------------------

    def _multiply(self, data: Buffer, at: Expr, block: Expr, columns: Var) -> Stmt:
        """The products of a block, whose sums are stored at a number, with a block of columns, and the results."""
        t = self.tiling
        product = Buffer("product", (t.rows, PRODUCTS, t.columns), "float32", Scope.LOCAL)
        row = Var("row")
        results = self._pair(block, row, lambda upper, lower: self._results(product, block, row, columns, upper, lower))
        body = seq([self._products(data, at, product, columns), For(row, t.rows, results)])
        return Allocate(product, body)

    def _products(self, data: Buffer, at: Expr, product: Buffer, columns: Var) -> Stmt:
        t = self.tiling
        p, row, o, k = Var("p"), Var("row"), Var("o"), Var("k")
        acc = Buffer("acc", (), "float32", Scope.LOCAL)
        read = Load(data, (at, p, row * self.row + k))
        form = Reduction(
            ((p, PRODUCTS), (row, t.rows), (o, t.columns)),
            acc,
            const(0.0, "float32"),
            ((k, self.steps),),
            acc.element() + read * Load(self.weights, (columns, p, k, o)),
            (Store(product, (row, p, o), acc.element()),),
        )
        return self.stages.add("product", form)

    def _results(self, product: Buffer, block: Expr, row: Var, columns: Var, upper: Places, lower: Places) -> Stmt:
        """Four results of a pair of rows from seven products, for all vectors of columns."""
        t, lanes = self.tiling, self.tiling.lanes
        group, v = Var("group"), Var("v")
        shared = Registers("part", RESULT, lanes)
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
        lines: list[Stmt] = [self._map("result", [(v, lanes)], stores)]
        for places, number, first in zip((upper, lower), self._numbers(block, row), (0, 2)):
            outs = [
                self._map(
                    "out",
                    [(v, lanes)],
                    stores_for(
                        self.product.form,
                        Load(done, (const(first + n), v)),
                        {**places, self.product.filters[0]: columns * t.columns + (lane + half if n else lane)},
                    ),
                )
                for n in (0, 1)
            ]
            whole = seq(outs)
            lines.append(If(less(number, self.product.count), whole) if self.missing else whole)
        return For(group, t.columns // lanes, Allocate(done, Allocate(shared.buffer, seq(lines))))
