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
    no_data         zeros, for a slice in the padding of depth
    product         sums of products over the input channels, of all slices that are summed
    half_result     the columns of products transformed back
    result, out     one row of results, and what is stored of it

The products are those of matrices, and get tiles of registers like others. Where few tiles read many weights, the data of a band
of blocks is transformed first, to the workspace, and threads share the blocks of output channels, too.

What a tile of registers reads in one step, and what one window's transform writes, must not put each other out of the nearest
cache: numbers of channels are mostly powers of two. So the tiles of a block lie side by side for each product, with a vector between
the products, and one between the tiles if channels fill so many lines.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...tir.expr import Expr, Load, Var, const, less
from ...tir.forms import Reduction
from ...tir.stmt import PARALLEL, Allocate, Buffer, For, If, Scope, Stmt, Store, seq
from ..forms import stores_for
from ..lane_steps import apart
from ..matrix_sums import Registers, transformed
from ..staged import StagedNest, StagedNestBuilder
from .convolution import Convolution, SpatialAxis
from .tile_place import TilePlace, located
from .tiling import Tiling
from .windows import Windows


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
        """Elements from a tile's steps to those of the next tile."""
        return apart(self.conv.steps, self.lanes)

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
        windows = Windows(self.conv, t, data, self.row, self.stages)
        groups = self.conv.filters[1] // t.filters
        if not t.bands:
            first = block * t.tiles
            inside = seq(
                [
                    windows.transform(first, t.tiles),
                    For(filters, groups, self._multiply(data, const(0), first, filters)),
                ]
            )
            return For(block, t.blocks, Allocate(data, inside), PARALLEL)
        band = Var("band")
        start = band * (t.tiles * t.blocks) if t.bands > 1 else const(0)
        body = seq(
            [
                windows.transform(start, t.tiles * t.blocks, PARALLEL),
                For(
                    filters,
                    groups,
                    For(block, t.blocks, self._multiply(data, block, start + block * t.tiles, filters), PARALLEL),
                    PARALLEL,
                ),
            ]
        )
        return Allocate(data, For(band, t.bands, body) if t.bands > 1 else body)

    # -- products and results ------------------------------------------------------------------------------------------

    def _multiply(self, data: Buffer, block: Expr, first: Expr, filters: Var) -> Stmt:
        """The products of a block of tiles of the data, which begins at the tile `first`, with a block of filters, and the results."""
        t = self.tiling
        product = Buffer("product", (t.tiles, t.products, t.filters), "float32", Scope.LOCAL)
        tile = Var("tile")
        products = self._products(data, block, product, filters)
        made = located(self.conv, t, first + tile, lambda place: self._results(product, tile, filters, place))
        results = For(tile, t.tiles, self._guarded(first + tile, made))
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
            ((c, self.conv.steps),),
            acc.element() + read * Load(self.weights, (filters, p, c, o)),
            (Store(product, (tile, p, o), acc.element()),),
        )
        return self.stages.add("product", form)

    def _results(self, product: Buffer, tile: Var, filters: Var, place: TilePlace) -> Stmt:
        c, t, lanes = self.conv, self.tiling, self.lanes
        size, (_, width) = t.size, t.window
        by_rows, by_columns = t.down.inverse, t.across.inverse
        group, y, x, v = Var("group"), Var("y"), Var("x"), Var("v")
        half = Buffer("half", (size, width, lanes), "float32", Scope.LOCAL)
        shared = Registers("part", lanes, by_rows, by_columns)
        done = Buffer("result", (size, lanes), "float32", Scope.REGISTER)

        down = transformed(
            by_rows,
            lambda n: Load(product, (tile, const(n * width) + x, group * lanes + v)),
            lambda n, e: Store(half, (const(n), x, v), e),
            shared,
            v,
        )
        across = transformed(
            by_columns, lambda n: Load(half, (y, const(n), v)), lambda n, e: Store(done, (const(n), v), e), shared, v
        )
        columns = self.stages.add_map("half_result", [(x, width), (v, lanes)], down)
        rows = self.stages.add_map("result", [(v, lanes)], across)

        def stored(n: int) -> Stmt:
            channel = filters * t.filters + group * lanes + v
            places = {**place.image, c.filters[0]: channel, c.rows.of: place.row + y, c.columns.of: place.column + n}
            stores = stores_for(c.form, Load(done, (const(n), v)), places)
            return self._where(
                c.columns, place.column + n, t.columns, n, self.stages.add_map("out", [(v, lanes)], stores)
            )

        line = seq([rows, *map(stored, range(size))])
        nest = seq([columns, For(y, size, self._where(c.rows, place.row + y, t.rows, size - 1, Allocate(done, line)))])
        return For(group, t.filters // lanes, Allocate(half, Allocate(shared.buffer, nest)))

    def _where(self, axis: SpatialAxis, place: Expr, tiles: int, step: int, body: Stmt) -> Stmt:
        """The statements, where there is a result: without a condition if the last tile has one at that step."""
        if (tiles - 1) * self.tiling.size + step < axis.extent:
            return body
        return If(less(place, axis.extent), body)
