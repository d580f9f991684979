"""The loops of a transformed convolution.

A tile of results needs a window of the data, tiles overlapping. With b tiles in a block::

    for blocks of tiles (threads share these):
      for the block's tiles, blocks of input channels:  data[p, tile, c] = B^T window B
      for blocks of output channels:
        for p, tiles, channels, c:                       product[tile, p, o] += data[p, tile, c] * weights[p, c, o]
        for tiles, channels:                             out[…] = f(A^T product A)

Each of these is a named stage, which a strategy or a script schedules:

    patch           a window at the border, with zeros as padding
    half_data       the rows of a window transformed: d B
    data            its columns: B^T (d B)
    no_data         zeros, for a slice in the padding of depth
    product         sums of products over the input channels, of all slices and parts of windows that are summed
    half_result     the columns of products transformed back
    result, out     one row of results, and its stores

The products are those of matrices, and get register tiles like others. If few tiles read many weights, the data of a band of
blocks are transformed first. They are on the stack of a thread, and threads share the bands; if there is a single band, each
thread transforms all of the data, which is faster than reading them from another core, and threads share the blocks of output
channels. Data that exceed the stack are in the workspace; threads share their tiles, then the blocks of output channels.

The reads of a register tile in one step, and the writes of one window's transform, must not evict each other from the L1 cache:
numbers of channels are mostly powers of two. So the tiles of a block are contiguous for each product, with a vector of padding
between the products, and one between the tiles if channels fill a power of two of lines.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field

from ....symbolic_int import holds, is_known
from ....tir.expr import Expr, Load, Var, const, less
from ....tir.forms import Reduction
from ....tir.stmt import PARALLEL, SERIAL, Allocate, Buffer, For, If, Scope, Stmt, Store, seq
from ...core.forms import stores_for
from ...core.lane_steps import apart
from ...core.matrix_sums import Registers, transformed
from ...core.nest_lengths import Bind
from ...core.staged import StagedNest, StagedNestBuilder
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
        """The distance of a tile's steps from those of the next tile, in elements."""
        return apart(self.conv.inputs, self.lanes)

    def build(self) -> Stmt:
        """The whole nest."""
        t = self.tiling
        data = Buffer(
            "data",
            (t.blocks if t.bands else 1, t.products, t.tiles * self.row + self.lanes),
            "float32",
            Scope.GLOBAL if t.bands and not t.own else Scope.LOCAL,
        )
        windows = Windows(self.conv, t, data, self.row, self.stages)
        if t.bands:
            whole = self._bands(windows)
            return whole if t.shares_bands else Allocate(data, whole)
        block, filters = Var("block"), Var("filters")
        first = block * t.tiles
        size, bind = self._size("tiles", t.tiles, t.count, first)
        transformed = windows.transform(first, size)
        multiplied = For(filters, self._groups, self._multiply(data, const(0), first, filters, size))
        return For(block, t.blocks, Allocate(data, bind(seq([transformed, multiplied]))), PARALLEL)

    def _bands(self, windows: Windows) -> Stmt:
        """The transforms, products and results of all bands."""
        t = self.tiling
        band, kind = Var("band"), SERIAL if t.own else PARALLEL
        most = t.tiles * t.blocks
        bands = -(-t.count // most) if t.bands != 1 else 1
        if bands == 1:
            return self._band(windows, const(0), t.count if t.is_open else most, kind)
        start = band * most
        size, bind = self._size("band_tiles", most, t.count, start)
        body = bind(self._band(windows, start, size, kind))
        return For(band, bands, Allocate(windows.data, body), PARALLEL) if t.shares_bands else For(band, bands, body)

    def _band(self, windows: Windows, start: Expr, size: int, kind: str) -> Stmt:
        """The transforms, products and results of a band of `size` tiles, which begins at the tile `start`."""
        return seq([windows.transform(start, size, kind), self._blocks(windows.data, start, size)])

    def _blocks(self, data: Buffer, start: Expr, count: int) -> Stmt:
        """The products and the results of a band of `count` tiles, which begins at the tile `start`."""
        t = self.tiling
        kind = SERIAL if t.shares_bands else PARALLEL
        block, filters = Var("block"), Var("filters")
        size, bind = self._size("tiles", t.tiles, count, block * t.tiles)
        product = bind(self._multiply(data, block, start + block * t.tiles, filters, size))
        return For(filters, self._groups, For(block, -(-count // t.tiles), product, kind), kind)

    @property
    def _groups(self) -> int:
        """The number of blocks of filters."""
        return self.conv.filters[1] // self.tiling.filters

    def _size(self, name: str, most: int, count: int, first: Expr) -> tuple[int, Bind]:
        """The number of tiles from `first` on, of `count`, but not more than `most`; all of these if the build knows the count."""
        if is_known(count):
            return most, lambda body: body
        return self.stages.lengths.add(name, most, count - first)

    # -- products and results ------------------------------------------------------------------------------------------

    def _multiply(self, data: Buffer, block: Expr, first: Expr, filters: Var, count: int) -> Stmt:
        """The products and the results for a block of `count` tiles, which begins at the tile `first`, and a block of filters."""
        t = self.tiling
        product = Buffer("product", (t.tiles, t.products, t.filters), "float32", Scope.LOCAL)
        tile = Var("tile")
        products = self._products(data, block, product, filters, count)
        result_stmt = located(self.conv, t, first + tile, lambda place: self._results(product, tile, filters, place))
        results = For(tile, count, self._guarded(first + tile, result_stmt))
        return Allocate(product, seq([products, results]))

    def _guarded(self, tile: Expr, body: Stmt) -> Stmt:
        """The statements, for existing tiles only."""
        t = self.tiling
        return body if t.is_whole else If(less(tile, t.count), body)

    def _products(self, data: Buffer, block: Expr, product: Buffer, filters: Var, count: int) -> Stmt:
        t = self.tiling
        p, tile, o, c = Var("p"), Var("tile"), Var("o"), Var("c")
        steps: Expr = c
        if self.conv.groups > 1:
            steps = filters // (self.conv.filters_of_group // t.filters) * self.conv.steps + c
        read = Load(data, (block, p, tile * self.row + steps))
        acc = Buffer("acc", (), "float32", Scope.LOCAL)
        form = Reduction(
            ((p, t.products), (tile, count), (o, t.filters)),
            acc,
            const(0.0, "float32"),
            ((c, self.conv.steps),),
            acc.element() + read * Load(self.weights, (filters, p, c, o)),
            (Store(product, (tile, p, o), acc.element()),),
        )
        return self.stages.add("product", form)

    def _results(self, product: Buffer, tile: Var, filters: Var, place: TilePlace) -> Stmt:
        c, t, lanes = self.conv, self.tiling, self.lanes
        (height, width), sums = t.sizes, t.across.products
        group, v = Var("group"), Var("v")
        shared = Registers("part", lanes, t.down.inverse, t.across.inverse)

        def summed(n: Expr) -> Load:
            return Load(product, (tile, n, group * lanes + v))

        def line(y: Expr, read: Callable[[int], Load]) -> Stmt:
            """One row of results, from the reads for its columns."""
            done = Buffer("result", (width, lanes), "float32", Scope.REGISTER)
            across = transformed(t.across.inverse, read, lambda n, e: Store(done, (const(n), v), e), shared, v)
            stmts: list[Stmt] = [self.stages.add_map("result", [(v, lanes)], across)]
            for n in range(width):
                positions = {**place.image, c.filters[0]: filters * t.filters + group * lanes + v}
                positions |= {
                    c.rows.of: _at(place.row, c.rows, y),
                    c.columns.of: _at(place.column, c.columns, const(n)),
                }
                stores = stores_for(c.form, Load(done, (const(n), v)), positions)
                out = self.stages.add_map("out", [(v, lanes)], stores)
                stmts.append(self._where(c.columns, place.column, const(n), width, n, out))
            return Allocate(done, seq(stmts))

        if c.rows.is_single:
            nest = line(const(0), lambda n: summed(const(n)))
        else:
            half = Buffer("half", (height, sums, lanes), "float32", Scope.LOCAL)
            y, x = Var("y"), Var("x")
            down = transformed(
                t.down.inverse,
                lambda n: summed(const(n * sums) + x),
                lambda n, e: Store(half, (const(n), x, v), e),
                shared,
                v,
            )
            columns = self.stages.add_map("half_result", [(x, sums), (v, lanes)], down)
            row = line(y, lambda n: Load(half, (y, const(n), v)))
            rows = For(y, height, self._where(c.rows, place.row, y, height, height - 1, row))
            nest = Allocate(half, seq([columns, rows]))
        return For(group, t.filters // lanes, Allocate(shared.buffer, nest))

    def _where(self, axis: SpatialAxis, first: Expr, number: Expr, size: int, most: int, body: Stmt) -> Stmt:
        """The statements, for results that exist in the tile; without a condition if all tiles have the result. `most`: the
        largest `number`."""
        if holds(operator.lt, axis.last_place(size) + most * axis.dilation, axis.extent):
            return body
        return If(less(_at(first, axis, number), axis.extent), body)


def _at(first: Expr, axis: SpatialAxis, number: Expr) -> Expr:
    """The index of a tile's result with that number."""
    return first + number * axis.dilation
