"""The loops of a transformed convolution.

A tile of results needs a window of the data, tiles overlapping. With b tiles in a block::

    for blocks of tiles (threads share these):
      for the block's tiles, blocks of input channels:  data[p, tile, c] = B^T window B
      for blocks of output channels:
        for p, tiles, channels, c:                       product[tile, p, o] += data[p, tile, c] * weights[p, c, o]
        for tiles, channels:                             out[…] = f(A^T product A)

Each of these is a stage with a name, which a strategy schedules, or a script:

    patch           a window at the border, with zeros for what does not exist
    half_data       the rows of a window transformed: d B
    data            its columns: B^T (d B)
    product         sums of products over the input channels
    half_result     the columns of products transformed back
    result, out     one row of results, and what is stored of it

The products are those of matrices, and get tiles of registers like others. Where few tiles read many weights, the data of a band
of blocks is transformed first, to the workspace, and threads share the blocks of output channels, too.

What a tile of registers reads in one step, and what one window's transform writes, must not put each other out of the nearest
cache: numbers of channels are mostly powers of two. So the tiles of a block lie side by side for each product, with a vector between
the products, and one between the tiles if channels fill so many lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...tir.expr import Expr, Load, Var, all_of, cast, const, if_then_else, less, minimum, substitute
from ...tir.forms import Loop, Map, Reduction
from ...tir.simplify import Simplifier
from ...tir.stmt import PARALLEL, SERIAL, Allocate, Buffer, For, If, Let, Scope, Stmt, Store, seq
from ..forms import stores_for
from ..lane_steps import apart
from ..matrix_sums import Registers, transformed
from ..staged import StagedNest, StagedNestBuilder
from .convolution import Convolution, SpatialAxis
from .cook_toom import transforms
from .tiling import Tiling


def nest_of_tiles(c: Convolution, tiling: Tiling, weights: Buffer) -> StagedNest:
    """The nest of a convolution with transformed `weights`, stored as (blocks of filters, products, channels, filters)."""
    nest = _Nest(c, tiling, weights)
    return nest.stages.nest(nest.build())


@dataclass
class _Nest:
    conv: Convolution
    tiling: Tiling
    weights: Buffer
    stages: StagedNestBuilder = field(default_factory=StagedNestBuilder)

    @property
    def lanes(self) -> int:
        """Lanes of a vector of channels."""
        return self.tiling.lanes

    @property
    def row(self) -> int:
        """Elements from a tile's channels to those of the next tile."""
        return apart(self.conv.channel[1], self.lanes)

    def build(self) -> Stmt:
        """The whole nest."""
        t = self.tiling
        block = Var("block")
        filters = Var("filters")
        data = Buffer(
            "data",
            (t.blocks if t.bands else 1, t.products, t.tiles * self.row + self.lanes),
            "float32",
            Scope.GLOBAL if t.bands else Scope.LOCAL,
        )
        groups = self.conv.filters[1] // t.filters
        if not t.bands:
            first = block * t.tiles
            inside = seq(
                [
                    self._transform(data, first, t.tiles),
                    For(filters, groups, self._multiply(data, const(0), first, filters)),
                ]
            )
            return For(block, t.blocks, Allocate(data, inside), PARALLEL)
        band = Var("band")
        start = band * (t.tiles * t.blocks) if t.bands > 1 else const(0)
        body = seq(
            [
                self._transform(data, start, t.tiles * t.blocks, PARALLEL),
                For(
                    filters,
                    groups,
                    For(block, t.blocks, self._multiply(data, block, start + block * t.tiles, filters), PARALLEL),
                    PARALLEL,
                ),
            ]
        )
        return Allocate(data, For(band, t.bands, body) if t.bands > 1 else body)

    # -- tiles ---------------------------------------------------------------------------------------------------------

    def _located(self, tile: Expr, body: Callable[[Expr, Expr, Expr], Stmt]) -> Stmt:
        """Statements for a tile, with its image and the first row and column of its results."""
        t = self.tiling
        simplify = Simplifier({})
        image, row, column = Var("image"), Var("row"), Var("column")
        n: Expr = image if t.images > 1 else const(0)
        nest = body(n, row, column)
        within = tile % (t.rows * t.columns) if t.images > 1 else tile
        nest = Let(column, simplify(within % t.columns * t.size), nest)
        nest = Let(row, simplify(within // t.columns * t.size), nest)
        return Let(image, simplify(tile // (t.rows * t.columns)), nest) if t.images > 1 else nest

    def _transform(self, data: Buffer, first: Expr, count: int, kind: str = SERIAL) -> Stmt:
        """The windows of `count` tiles from `first` on, transformed. Behind the last tile, that one is taken again."""
        tile = Var("tile")
        which: Expr = first + tile
        if self.tiling.count % (self.tiling.tiles * max(1, self.tiling.blocks * max(1, self.tiling.bands))):
            which = minimum(which, self.tiling.count - 1)
        body = self._located(which, lambda n, row, column: self._window(data, tile, n, row, column))
        return For(tile, count, body, kind)

    def _window(self, data: Buffer, tile: Var, image: Expr, row: Expr, column: Expr) -> Stmt:
        c, lanes, size = self.conv, self.lanes, self.tiling.window
        group = Var("group")

        def element(y: Expr, x: Expr, lane: Var) -> Expr:
            places: dict[Expr, Expr] = {c.channel[0]: group * lanes + lane, c.rows.of: y, c.columns.of: x}
            if c.image is not None:
                places[c.image[0]] = image
            return cast(substitute(c.data, places), "float32")

        top, left = row + c.rows.shift, column + c.columns.shift

        def inside(y: Expr, x: int, lane: Var) -> Expr:
            return element(top + y, left + x, lane)

        free = [*self._free(c.rows, row, self.tiling.rows), *self._free(c.columns, column, self.tiling.columns)]
        if not free:
            return For(group, c.channel[1] // lanes, self._transform_window(data, tile, group, inside))
        patch = Buffer("patch", (size, size, lanes), "float32", Scope.LOCAL)
        y, x, v = Var("y"), Var("x"), Var("v")
        exists = all_of([*_exists(c.rows, row, top + y), *_exists(c.columns, column, left + x)])
        value = if_then_else(exists, element(top + y, left + x, v), const(0.0, "float32"))
        copied = self._map("patch", [(y, size), (x, size), (v, lanes)], [Store(patch, (y, x, v), value)])
        border = self._transform_window(data, tile, group, lambda y, x, lane: Load(patch, (y, const(x), lane)))
        nest = self._transform_window(data, tile, group, inside)
        nest = If(all_of(free), nest, Allocate(patch, seq([copied, border])))
        return For(group, c.channel[1] // lanes, nest)

    def _free(self, axis: SpatialAxis, place: Expr, tiles: int) -> list[Expr]:
        """Conditions under which a window has all its elements."""
        low = axis.shift
        high = (tiles - 1) * self.tiling.size + axis.shift + self.tiling.window - 1
        exprs = []
        if low < axis.first:
            exprs.append(less(axis.first - axis.shift - 1, place))
        if high > axis.last:
            exprs.append(less(place, axis.last - axis.shift - self.tiling.window + 2))
        return exprs

    def _transform_window(self, data: Buffer, tile: Var, group: Var, read: Callable[[Expr, int, Var], Expr]) -> Stmt:
        """`data[:, tile, group] = B^T d B`: along rows, then along columns."""
        lanes, size, matrix = self.lanes, self.tiling.window, transforms(self.tiling.size).data
        half, shared = Buffer("half", (size, size, lanes), "float32", Scope.LOCAL), Registers("part", matrix, lanes)
        y, x, v = Var("y"), Var("x"), Var("v")
        block = tile // self.tiling.tiles if self.tiling.bands else const(0)
        within = tile % self.tiling.tiles if self.tiling.bands else tile

        across = transformed(matrix, lambda n: read(y, n, v), lambda n, e: Store(half, (y, const(n), v), e), shared, v)
        down = transformed(
            matrix,
            lambda n: Load(half, (const(n), x, v)),
            lambda n, e: Store(data, (block, const(n * size) + x, within * self.row + group * lanes + v), e),
            shared,
            v,
        )
        rows = self._map("half_data", [(y, size), (v, lanes)], across)
        columns = self._map("data", [(x, size), (v, lanes)], down)
        return Allocate(half, Allocate(shared.buffer, seq([rows, columns])))

    def _map(self, name: str, loops: Sequence[Loop], stores: Sequence[Store]) -> Stmt:
        """The place of a stage that makes elements of its own in every step."""
        return self.stages.add(name, Map(tuple(loops), tuple(stores)))

    # -- products and results ------------------------------------------------------------------------------------------

    def _multiply(self, data: Buffer, block: Expr, first: Expr, filters: Var) -> Stmt:
        """The products of a block of tiles of the data, which begins at the tile `first`, with a block of filters, and the results."""
        t = self.tiling
        product = Buffer("product", (t.tiles, t.products, t.filters), "float32", Scope.LOCAL)
        tile = Var("tile")
        products = self._products(data, block, product, filters)
        located = self._located(
            first + tile, lambda n, row, column: self._results(product, tile, filters, n, row, column)
        )
        results = For(tile, t.tiles, self._guarded(first + tile, located))
        return Allocate(product, seq([products, results]))

    def _guarded(self, tile: Expr, body: Stmt) -> Stmt:
        """The statements, for tiles that exist only."""
        t = self.tiling
        whole = t.count % (t.tiles * t.blocks * max(1, t.bands)) == 0
        return body if whole else If(less(tile, t.count), body)

    def _products(self, data: Buffer, block: Expr, product: Buffer, filters: Var) -> Stmt:
        t = self.tiling
        p, tile, o, c = Var("p"), Var("tile"), Var("o"), Var("c")
        read = Load(data, (block, p, tile * self.row + c))
        acc = Buffer("acc", (), "float32", Scope.LOCAL)
        form = Reduction(
            ((p, t.products), (tile, t.tiles), (o, t.filters)),
            acc,
            const(0.0, "float32"),
            ((c, self.conv.channel[1]),),
            acc.element() + read * Load(self.weights, (filters, p, c, o)),
            (Store(product, (tile, p, o), acc.element()),),
        )
        return self.stages.add("product", form)

    def _results(self, product: Buffer, tile: Var, filters: Var, image: Expr, row: Expr, column: Expr) -> Stmt:
        c, t, lanes = self.conv, self.tiling, self.lanes
        size, window, matrix = t.size, t.window, transforms(t.size).inverse
        group, y, x, v = Var("group"), Var("y"), Var("x"), Var("v")
        half = Buffer("half", (size, window, lanes), "float32", Scope.LOCAL)
        shared = Registers("part", matrix, lanes)
        done = Buffer("result", (size, lanes), "float32", Scope.REGISTER)

        down = transformed(
            matrix,
            lambda n: Load(product, (tile, const(n * window) + x, group * lanes + v)),
            lambda n, e: Store(half, (const(n), x, v), e),
            shared,
            v,
        )
        across = transformed(
            matrix, lambda n: Load(half, (y, const(n), v)), lambda n, e: Store(done, (const(n), v), e), shared, v
        )
        columns = self._map("half_result", [(x, window), (v, lanes)], down)
        rows = self._map("result", [(v, lanes)], across)

        def stored(n: int) -> Stmt:
            channel = filters * t.filters + group * lanes + v
            stores = self._stored(Load(done, (const(n), v)), channel, image, row + y, column + n)
            return self._where(c.columns, column + n, t.columns, n, self._map("out", [(v, lanes)], stores))

        line = seq([rows, *map(stored, range(size))])
        nest = seq([columns, For(y, size, self._where(c.rows, row + y, t.rows, size - 1, Allocate(done, line)))])
        return For(group, t.filters // lanes, Allocate(half, Allocate(shared.buffer, nest)))

    def _where(self, axis: SpatialAxis, place: Expr, tiles: int, step: int, body: Stmt) -> Stmt:
        """The statements, where there is a result: without a condition if the last tile has one at that step."""
        if (tiles - 1) * self.tiling.size + step < axis.extent:
            return body
        return If(less(place, axis.extent), body)

    def _stored(self, result: Expr, channel: Expr, image: Expr, row: Expr, column: Expr) -> tuple[Store, ...]:
        """What the convolution stores for one result, of which the sum is given."""
        c = self.conv
        places: dict[Expr, Expr] = {c.filters[0]: channel, c.rows.of: row, c.columns.of: column}
        if c.image is not None:
            places[c.image[0]] = image
        return stores_for(c.form, result, places)


def _exists(axis: SpatialAxis, place: Expr, at: Expr) -> list[Expr]:
    """Conditions under which an element of the data exists along an axis."""
    return [less(axis.first - 1, at), less(at, axis.last + 1)]
