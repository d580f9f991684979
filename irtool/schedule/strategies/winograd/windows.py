"""The loops that transform windows of the data.

For each tile, each slice of the sum along depth, each part of a large window and each vector of channels: the stages `patch`,
`half_data` and `data`, or `no_data` for a slice that does not exist. A slice is transformed again for every result that sums it,
and common elements of two parts of windows are transformed for both: relative to the products, which are computed again, too,
that is as much as for other convolutions.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass

from ....symbolic_int import holds
from ....tir.expr import Expr, Load, Var, all_of, cast, const, if_then_else, less, minimum, substitute
from ....tir.simplify import Simplifier
from ....tir.stmt import SERIAL, Allocate, Buffer, For, If, Let, Scope, Stmt, Store, seq
from ...core.matrix_sums import Registers, transformed
from ...core.staged import StagedNestBuilder
from .axes import DepthAxis, Elements, SpatialAxis
from .convolution import Convolution
from .tile_place import TilePlace, located
from .tiling import Tiling


@dataclass(frozen=True)
class _Window:
    """A vector of channels of a window: for the tile of a number, at a place, in a slice of the depth, if there is one, and in a
    part of the window, by rows and columns. The products of the vector are summed in the steps from `step` on."""

    tile: Var
    place: TilePlace
    slice: Expr | None
    parts: tuple[Expr, Expr]
    channel: Expr
    step: Expr


@dataclass(frozen=True)
class Windows:
    """The windows of a convolution. `row`: the distance of a tile's steps from those of the next tile in `data`, in elements."""

    conv: Convolution
    tiling: Tiling
    data: Buffer
    row: int
    stages: StagedNestBuilder

    def transform(self, first: Expr, count: int, kind: str = SERIAL) -> Stmt:
        """The transforms of `count` tiles from `first` on. Tiles behind the last one are that tile again."""
        t = self.tiling
        tile = Var("tile")
        which: Expr = first + tile
        if not t.is_whole:
            which = minimum(which, t.count - 1)
        return For(tile, count, located(self.conv, t, which, lambda place: self._of_tile(tile, place)), kind)

    def _of_tile(self, tile: Var, place: TilePlace) -> Stmt:
        """The windows of a tile in all slices of the sum."""
        depth = self.conv.depth
        tap: Expr = Var("tap") if depth is not None and depth.taps > 1 else const(0)
        number = Var("slice") if depth is not None else None

        def window(parts: tuple[Expr, Expr], channel: Expr, step: Expr) -> _Window:
            return _Window(tile, place, number, parts, channel, step)

        nest = self._steps(tap, lambda *positions: self._window(window(*positions)))
        if depth is None or number is None:
            return nest
        exists = self._exists_in_depth(depth, number)
        if exists:
            nest = If(all_of(exists), nest, self._steps(tap, lambda *positions: self._no_data(window(*positions))))
        nest = Let(number, _simplified(depth.at(tap, place.image[depth.of] if depth.of is not None else None)), nest)
        return For(tap, depth.taps, nest) if isinstance(tap, Var) else nest

    def _steps(self, tap: Expr, body: Callable[[tuple[Expr, Expr], Expr, Expr], Stmt]) -> Stmt:
        """Statements for each part of a window, by rows and columns, and for each vector of its channels, with the first channel
        and its step."""
        group, (rows, columns) = Var("group"), self.conv.parts
        down, across = (Var(n) if count != 1 else const(0) for n, count in (("down", rows), ("across", columns)))
        channel = group * self.tiling.lanes
        each = self.conv.channel[1] // self.conv.groups
        first = ((tap * rows + down) * columns + across) * each
        step = channel // each * self.conv.steps + first + channel % each if self.conv.groups > 1 else first + channel
        nest: Stmt = For(
            group, self.conv.channel[1] // self.tiling.lanes, body((down, across), channel, _simplified(step))
        )
        for part, count in ((across, columns), (down, rows)):
            nest = For(part, count, nest) if isinstance(part, Var) else nest
        return nest

    def _exists_in_depth(self, depth: DepthAxis, number: Expr) -> list[Expr]:
        """Conditions under which the slice of a number exists; an empty list if all do."""
        ends = [(0, 0), (depth.taps - 1, depth.extent - 1)]
        return [] if all(depth.exists(tap, result) for tap, result in ends) else _exists(depth, number)

    def _no_data(self, w: _Window) -> Stmt:
        """Zeros for a window of a slice that does not exist."""
        p, v = Var("p"), Var("v")
        store = self._stored(w, p, v, const(0.0, "float32"))
        return self.stages.add_map("no_data", [(p, self.tiling.products), (v, self.tiling.lanes)], [store])

    def _window(self, w: _Window) -> Stmt:
        c, t = self.conv, self.tiling
        (height, width), lanes = t.window, t.lanes
        top, left = _first(c.rows, w.place.row, w.parts[0]), _first(c.columns, w.place.column, w.parts[1])

        def element(y: Expr, x: Expr, lane: Var) -> Expr:
            positions: dict[Expr, Expr] = {
                c.channel[0]: w.channel + lane,
                c.rows.of: y,
                c.columns.of: x,
                **w.place.image,
            }
            if c.depth is not None and w.slice is not None:
                positions[c.depth.slice] = w.slice
            return cast(substitute(c.data, positions), "float32")

        def inside(y: Expr, x: int, lane: Var) -> Expr:
            return element(top + y * c.rows.dilation, left + x * c.columns.dilation, lane)

        free = [*self._free(c.rows, 0, w.place.row, w.parts[0]), *self._free(c.columns, 1, w.place.column, w.parts[1])]
        if not free:
            return self._transform_window(w, inside)
        patch = Buffer("patch", (height, width, lanes), "float32", Scope.LOCAL)
        y, x, v = Var("y"), Var("x"), Var("v")
        row, column = top + y * c.rows.dilation, left + x * c.columns.dilation
        exists = all_of([*([] if c.rows.is_single else _exists(c.rows, row)), *_exists(c.columns, column)])
        value = if_then_else(exists, element(row, column, v), const(0.0, "float32"))
        copied = self.stages.add_map("patch", [(y, height), (x, width), (v, lanes)], [Store(patch, (y, x, v), value)])
        border = self._transform_window(w, lambda y, x, lane: Load(patch, (y, const(x), lane)))
        nest = self._transform_window(w, inside)
        return If(all_of(free), nest, Allocate(patch, seq([copied, border])))

    def _free(self, axis: SpatialAxis, which: int, place: Expr, part: Expr) -> list[Expr]:
        """Conditions under which a part of a window needs no padding along an axis: `which` is 0 for rows, 1 for columns."""
        low = axis.shift
        last = axis.shift + (self.tiling.window[which] - 1) * axis.dilation
        exprs = []
        moved = _simplified(place * axis.stride + part * axis.part)
        most = axis.last_place(self.tiling.sizes[which]) * axis.stride + (axis.parts - 1) * axis.part
        if not holds(operator.ge, low, axis.first):
            exprs.append(less(axis.first - low - 1, moved))
        if not holds(operator.le, most + last, axis.last):
            exprs.append(less(moved, axis.last - last + 1))
        return exprs

    def _transform_window(self, w: _Window, read: Callable[[Expr, int, Var], Expr]) -> Stmt:
        """`data[:, tile, steps] = B^T d B`: along rows, then along columns."""
        lanes, height, width = self.tiling.lanes, self.tiling.down.inputs, self.tiling.across.products
        v = Var("v")
        by_rows, by_columns = self.tiling.down.data, self.tiling.across.data
        shared = Registers("part", lanes, by_rows, by_columns)
        if self.conv.rows.is_single:
            data = transformed(
                by_columns,
                lambda n: read(const(0), n, v),
                lambda n, e: self._stored(w, const(n), v, e),
                shared,
                v,
            )
            return Allocate(shared.buffer, self.stages.add_map("data", [(v, lanes)], data))
        half = Buffer("half", (height, width, lanes), "float32", Scope.LOCAL)
        y, x = Var("y"), Var("x")

        across = transformed(
            by_columns, lambda n: read(y, n, v), lambda n, e: Store(half, (y, const(n), v), e), shared, v
        )
        down = transformed(
            by_rows,
            lambda n: Load(half, (const(n), x, v)),
            lambda n, e: self._stored(w, const(n * width) + x, v, e),
            shared,
            v,
        )
        rows = self.stages.add_map("half_data", [(y, height), (v, lanes)], across)
        columns = self.stages.add_map("data", [(x, width), (v, lanes)], down)
        return Allocate(half, Allocate(shared.buffer, seq([rows, columns])))

    def _stored(self, w: _Window, product: Expr, lane: Var, value: Expr) -> Store:
        """The store of a factor of a product."""
        t = self.tiling
        block = w.tile // t.tiles if t.bands else const(0)
        within = w.tile % t.tiles if t.bands else w.tile
        return Store(self.data, (block, product, within * self.row + w.step + lane), value)


def _first(axis: SpatialAxis, place: Expr, part: Expr) -> Expr:
    """The first element of a part of the window of a tile whose results begin at a place."""
    return _simplified(place * axis.stride + part * axis.part + axis.shift)


def _exists(axis: Elements, index: Expr) -> list[Expr]:
    """Conditions under which an element of the data exists along an axis."""
    return [less(axis.first - 1, index), less(index, axis.last + 1)]


def _simplified(e: Expr) -> Expr:
    return Simplifier({})(e)
