"""The loops of a transformed convolution.

A tile of results needs a window of the data, tiles overlapping. With b tiles in a block::

    for blocks of tiles (threads share these):
      for the block's tiles, blocks of input channels:  data[p, tile, c] = B^T window B
      for blocks of output channels:
        for p, tiles, channels, c:                       product[tile, p, o] += data[p, tile, c] * weights[p, c, o]
        for tiles, channels:                             out[…] = f(A^T product A)

The products are those of matrices, and get tiles of registers like others. Where few tiles read many weights, the data of a band
of blocks is transformed first, to the workspace, and threads share the blocks of output channels, too.

What a tile of registers reads in one step, and what one window's transform writes, must not put each other out of the nearest
cache: numbers of channels are mostly powers of two. So the tiles of a block lie side by side for each product, with a vector between
the products, and one between the tiles if channels fill so many lines.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...tir.expr import Expr, Load, Var, all_of, const, if_then_else, less, minimum, rewrite, substitute
from ...tir.forms import Reduction
from ...tir.simplify import Simplifier
from ...tir.stmt import PARALLEL, SERIAL, Allocate, Buffer, For, If, Let, Scope, Stmt, Store, seq
from ...tir.vector_target import VectorTarget
from ..affine import loads
from ..block import Block
from ..nest import lower_all
from ..primitives import prefetch, step
from ..strategies.register_tile import tile_reduction
from ..tile_choice import choose_register_tile
from .convolution import Convolution, SpatialAxis
from .cook_toom import transforms
from .registers import Registers, over_lanes, transformed
from .tiling import Tiling

_APART = 2048
"""Bytes. Rows apart by multiples of it meet in two sets or one of a cache of 4096 bytes a way, as the nearest ones are."""


def lower_tiles(c: Convolution, tiling: Tiling, weights: Buffer, target: VectorTarget) -> Stmt:
    """The nest of a convolution with transformed `weights`, stored as (blocks of filters, products, channels, filters)."""
    return _Nest(c, tiling, weights, target).build()


@dataclass
class _Nest:
    conv: Convolution
    tiling: Tiling
    weights: Buffer
    target: VectorTarget

    @property
    def lanes(self) -> int:
        """Lanes of a vector of channels."""
        return self.tiling.lanes

    @property
    def row(self) -> int:
        """Elements from a tile's channels to those of the next tile."""
        channels = self.conv.channel[1]
        return channels + self.lanes if channels * 4 % _APART == 0 else channels

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
        made = body(n, row, column)
        within = tile % (t.rows * t.columns) if t.images > 1 else tile
        made = Let(column, simplify(within % t.columns * t.size), made)
        made = Let(row, simplify(within // t.columns * t.size), made)
        return Let(image, simplify(tile // (t.rows * t.columns)), made) if t.images > 1 else made

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

        def element(y: Expr, x: Expr, lane: Var) -> Load:
            places: dict[Expr, Expr] = {c.channel[0]: group * lanes + lane, c.rows.of: y, c.columns.of: x}
            if c.image is not None:
                places[c.image[0]] = image
            load = substitute(c.data, places)
            assert isinstance(load, Load)
            return load

        top, left = row + c.rows.shift, column + c.columns.shift

        def inside(y: Expr, x: int, lane: Var) -> Expr:
            return element(top + y, left + x, lane)

        free = [*self._free(c.rows, row, self.tiling.rows), *self._free(c.columns, column, self.tiling.columns)]
        made = self._transform_window(data, tile, group, inside)
        if free:
            patch = Buffer("patch", (size, size, lanes), "float32", Scope.LOCAL)
            y, x = Var("y"), Var("x")
            exists = all_of([*_exists(c.rows, row, top + y), *_exists(c.columns, column, left + x)])
            copy = over_lanes(
                lanes,
                lambda v: Store(
                    patch, (y, x, v), if_then_else(exists, element(top + y, left + x, v), const(0.0, "float32"))
                ),
            )
            copied = For(y, size, For(x, size, copy))
            border = self._transform_window(data, tile, group, lambda y, x, lane: Load(patch, (y, const(x), lane)))
            made = If(all_of(free), made, Allocate(patch, seq([copied, border])))
        return For(group, c.channel[1] // lanes, made)

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
        y, x = Var("y"), Var("x")
        block = tile // self.tiling.tiles if self.tiling.bands else const(0)
        within = tile % self.tiling.tiles if self.tiling.bands else tile

        def across(v: Var) -> Stmt:
            return transformed(
                matrix, lambda n: read(y, n, v), lambda n, e: Store(half, (y, const(n), v), e), shared, v
            )

        def down(v: Var) -> Stmt:
            return transformed(
                matrix,
                lambda n: Load(half, (const(n), x, v)),
                lambda n, e: Store(data, (block, const(n * size) + x, within * self.row + group * lanes + v), e),
                shared,
                v,
            )

        both = seq([For(y, size, over_lanes(lanes, across)), For(x, size, over_lanes(lanes, down))])
        return Allocate(half, Allocate(shared.buffer, both))

    # -- products and results ------------------------------------------------------------------------------------------

    def _multiply(self, data: Buffer, block: Expr, first: Expr, filters: Var) -> Stmt:
        """The products of a block of tiles of the data, which begins at the tile `first`, with a block of filters, and the results."""
        t = self.tiling
        product = Buffer("product", (t.tiles, t.products, t.filters), "float32", Scope.LOCAL)
        tile = Var("tile")
        results = For(
            tile,
            t.tiles,
            self._guarded(
                first + tile,
                self._located(
                    first + tile, lambda n, row, column: self._results(product, tile, filters, n, row, column)
                ),
            ),
        )
        return Allocate(product, seq([self._products(data, block, product, filters), results]))

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
        choice = choose_register_tile(form, self.target, again=True)
        assert choice is not None, "filters of whole vectors lie side by side"
        with step(f"product: register_tile — {choice.reason}"):
            parts = tile_reduction(Block.of(form), choice, self.target, serial=True)
            if self.weights.nbytes >= self.target.l1_cache_bytes:
                parts = self._ahead(parts, p, tile)
        return lower_all(parts, self.target)

    def _ahead(self, parts: list[Block[Reduction]], p: Var, tile: Var) -> list[Block[Reduction]]:
        """The products, where weights come from memory: those of the next product are asked for while these are used."""
        most = max(range(len(parts)), key=lambda n: math.prod(extent for _, extent in parts[n].outside))
        b = parts[most]
        (weights,) = (e for e in loads(b.form.update) if e.source is self.weights)
        over = [v for v in b.over(tile) if any(v is x for x, _ in b.outside)]
        shared: dict[str, Any] = {"over": over[0]} if over else {}
        parts[most] = prefetch(b, weights, ahead=b.over(p)[0], **shared)
        return parts

    def _results(self, product: Buffer, tile: Var, filters: Var, image: Expr, row: Expr, column: Expr) -> Stmt:
        c, t, lanes = self.conv, self.tiling, self.lanes
        size, window, matrix = t.size, t.window, transforms(t.size).inverse
        group, y, x = Var("group"), Var("y"), Var("x")
        half = Buffer("half", (size, window, lanes), "float32", Scope.LOCAL)
        shared = Registers("part", matrix, lanes)
        done = Buffer("result", (size, lanes), "float32", Scope.REGISTER)

        def down(v: Var) -> Stmt:
            return transformed(
                matrix,
                lambda n: Load(product, (tile, const(n * window) + x, group * lanes + v)),
                lambda n, e: Store(half, (const(n), x, v), e),
                shared,
                v,
            )

        def across(v: Var) -> Stmt:
            return transformed(
                matrix, lambda n: Load(half, (y, const(n), v)), lambda n, e: Store(done, (const(n), v), e), shared, v
            )

        def stored(n: int) -> Stmt:
            channel = filters * t.filters + group * lanes
            one = over_lanes(
                lanes, lambda v: self._stored(Load(done, (const(n), v)), channel + v, image, row + y, column + n)
            )
            return self._where(c.columns, column + n, t.columns, n, one)

        line = seq([over_lanes(lanes, across), *map(stored, range(size))])
        made = seq(
            [
                For(x, window, over_lanes(lanes, down)),
                For(y, size, self._where(c.rows, row + y, t.rows, size - 1, Allocate(done, line))),
            ]
        )
        return For(group, t.filters // lanes, Allocate(half, Allocate(shared.buffer, made)))

    def _where(self, axis: SpatialAxis, place: Expr, tiles: int, step: int, body: Stmt) -> Stmt:
        """The statements, where there is a result: without a condition if the last tile has one at that step."""
        if (tiles - 1) * self.tiling.size + step < axis.extent:
            return body
        return If(less(place, axis.extent), body)

    def _stored(self, result: Expr, channel: Expr, image: Expr, row: Expr, column: Expr) -> Stmt:
        """What the convolution stores for one result, of which the sum is given."""
        c = self.conv
        places: dict[Expr, Expr] = {c.filters[0]: channel, c.rows.of: row, c.columns.of: column}
        if c.image is not None:
            places[c.image[0]] = image

        def change(e: Expr) -> Expr:
            return rewrite(e, lambda x: result if isinstance(x, Load) and x.source is c.form.acc else x, dict(places))

        return seq([Store(s.buffer, [change(i) for i in s.indices], change(s.value)) for s in c.form.stores])


def _exists(axis: SpatialAxis, place: Expr, at: Expr) -> list[Expr]:
    """Conditions under which an element of the data exists along an axis."""
    return [less(axis.first - 1, at), less(at, axis.last + 1)]
