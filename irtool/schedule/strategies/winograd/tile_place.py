"""The position of a tile of results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

from ....tir.expr import Expr, Var, const
from ....tir.simplify import Simplifier
from ....tir.stmt import Let, Stmt
from .convolution import Convolution
from .tiling import Tiling


@dataclass(frozen=True)
class TilePlace:
    """The place of a tile: the axes of its image, and the first row and column of its results."""

    image: Mapping[Expr, Expr]
    row: Expr
    column: Expr


def located(c: Convolution, t: Tiling, tile: Expr, body: Callable[[TilePlace], Stmt]) -> Stmt:
    """Statements for the tile with that number. Tiles are in the order of their images, rows and columns."""
    simplify = Simplifier({})
    count = t.rows * t.columns
    moving = [(v, n) for v, n in c.image if n != 1]
    names = ["image"] if len(moving) == 1 else [f"image{n}" for n in range(len(moving))]
    images, row, column = [Var(n) for n in names], Var("row"), Var("column")
    place: dict[Expr, Expr] = {v: const(0) for v, _ in c.image}
    place.update((v, image) for (v, _), image in zip(moving, images))
    nest = body(TilePlace(place, row, column))
    within = tile % count if moving else tile
    height, width = t.sizes
    nest = Let(column, simplify(c.columns.place(within % t.columns, width)), nest)
    nest = Let(row, simplify(c.rows.place(within // t.columns, height)), nest)
    for n, image in reversed([*enumerate(images)]):
        number = tile // (count * prod(extent for _, extent in moving[n + 1 :]))
        nest = Let(image, simplify(number % moving[n][1] if n else number), nest)
    return nest
