"""Blocks of sums in matrix tiles: the loops marked `tiled` (see `schedule.strategies.matrix_tile.nest`), and the configuration of
registers.

for y: tiled …      ⇒      configure registers, for y: block, release them

Blocks use the eight registers in two ways: those of 2 x 2 tiles have their sums in 0 to 3, rows of the data in 4 and 5, columns
of the weights in 6 and 7; a single tile of rows, `wide`, is in 4, and weights are in 5 to 7 in turn. So all blocks of a kernel
have one configuration, unless sums have several lengths.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..tir.expr import Call, Expr, Load, Var, const, post_order, substitute
from ..tir.int8_dot import DOTS, TILE
from ..tir.simplify import Simplifier
from ..tir.stmt import (
    PARALLEL,
    TILED,
    Allocate,
    Buffer,
    For,
    Lowered,
    Seq,
    Stmt,
    Store,
    expressions,
    pre_order,
    rewrite_stmt,
)
from .nests import lower_parts

Configuration = tuple[int, ...]
"""The 64 bytes that describe the registers of tiles."""


@dataclass(frozen=True)
class TileBlock:
    """A block of sums.

    Attributes:
        signs: dtypes of the numbers of the data and of the weights.
        acc: the sums, in tiles of rows, rows, tiles of columns, columns.
        sums: the loops of the sum.
        data, weights: the operands, at an offset in words.
        axes: the variables of the tiles of rows, the rows, the tiles of columns, the columns, the words.
        steps: words of the sum in a tile.
        a_row, b_row: words between rows of a tile.
        wide: registers are used for a single tile of rows.
        configures: the block configures the registers itself, as other blocks need them otherwise.
    """

    signs: tuple[str, str]
    acc: Buffer
    sums: tuple[For, ...]
    data: Load
    weights: Load
    axes: tuple[Var, ...]
    steps: int
    a_row: int
    b_row: int
    wide: bool
    configures: bool

    @property
    def configuration(self) -> Configuration:
        """The configuration of registers for it."""
        return configuration(self.acc.shape[1], self.steps, self.wide)

    def place(self, e: Load, tile: int, column: int, simplify: Simplifier) -> Expr:
        """The first place of a tile of an operand."""
        a, i, c, j, w = self.axes
        values: dict[Expr, Expr] = {a: const(tile), c: const(column), i: const(0), j: const(0), w: const(0)}
        return simplify(substitute(e.indices[0], values))


@dataclass(frozen=True)
class TileRegion:
    """A statement with blocks of sums, in which each thread's registers are configured: once for all blocks, or, if
    `configuration` is empty, by each block."""

    configuration: Configuration


def configuration(height: int, steps: int, wide: bool) -> Configuration:
    """The bytes for tiles of `height` rows and `steps` words of the sum."""
    columns, rows = [0] * 16, [0] * 16
    for n in range(8):
        if n < 4:
            columns[n], rows[n] = TILE, height
        elif n == 4 or (n == 5 and not wide):
            columns[n], rows[n] = steps, height
        else:
            columns[n], rows[n] = TILE, steps
    sizes = [byte for words in columns for byte in divmod(4 * words, 256)[::-1]]
    return (1, *[0] * 15, *sizes, *rows)


def register_shapes(configuration: Configuration) -> list[tuple[int, int]]:
    """The rows of each of the eight registers, and the bytes of a row."""
    sizes, rows = configuration[16:32], configuration[48:56]
    return [(rows[n], sizes[2 * n] + 256 * sizes[2 * n + 1]) for n in range(8)]


def select_tiles(root: Stmt, simplify: Simplifier) -> Stmt:
    """The nest with a `TileBlock` for each loop marked `tiled`, in a `TileRegion`. Otherwise the nest is lowered: elements have
    one offset each, and such loops are unchanged."""
    return lower_parts(root, lambda s: _region(s, simplify) if _begins_tiles(s) else s)


def _region(around: Stmt, simplify: Simplifier) -> Lowered:
    blocks = _blocks(around)
    wide = {s: _is_wide(s, blocks) for s in blocks}
    configurations = {_read_block(s, simplify, wide[s]).configuration for s in blocks}

    def lower(s: Stmt) -> Stmt:
        if not isinstance(s, Lowered) or s.code not in wide:
            return s
        return Lowered(s.body, _read_block(s.code, simplify, wide[s.code], len(configurations) > 1))

    return Lowered(
        rewrite_stmt(around, lower), TileRegion(next(iter(configurations)) if len(configurations) == 1 else ())
    )


def _begins_tiles(s: Stmt) -> bool:
    """True if registers are configured in front of a loop, once for all blocks in it: it is parallel, or no parallel loop inside
    has blocks. Each thread has registers of its own."""
    loop = s.code if isinstance(s, Lowered) else s
    if not isinstance(loop, For) or not _blocks(loop):
        return False
    shared = (x for x in pre_order(loop.body) if isinstance(x, For) and x.kind == PARALLEL)
    return loop.kind == PARALLEL or not any(map(_blocks, shared))


def _blocks(s: Stmt) -> list[For]:
    return [x for x in pre_order(s) if isinstance(x, For) and x.kind == TILED]


def _is_wide(s: For, blocks: list[For]) -> bool:
    """True if a block with a single tile of rows uses registers in the `wide` way: it has more than two tiles of columns, or all
    blocks of the region have a single tile of rows."""
    tiles, columns = _shape(s)
    return tiles == 1 and (columns > 2 or all(_shape(x)[0] == 1 for x in blocks))


def _shape(s: For) -> tuple[int, int]:
    """Tiles of rows and of columns of a block."""
    store = next(x for x in pre_order(s) if isinstance(x, Store))
    return store.buffer.shape[0], store.buffer.shape[2]


def _read_block(s: For, simplify: Simplifier, wide: bool, configures: bool = False) -> TileBlock:
    """The sums of a loop marked `tiled`."""
    assert isinstance(s.body, Seq)
    _, update = s.body.stmts
    loops: list[For] = []
    while isinstance(update, For):
        loops.append(update)
        update = update.body
    inner: list[Stmt] = list(pre_order(update))
    loops += [x for x in inner if isinstance(x, For)]
    *sums, a, i, c, j, w = loops
    stores = [x for x in inner if isinstance(x, Store)]
    acc = stores[-1].buffer
    local_buffers = {x.buffer for x in inner if isinstance(x, Allocate)} | {acc}
    nodes = post_order(*(e for x in inner for e in expressions(x)))
    reads = [e for e in nodes if isinstance(e, Load) and e.source not in local_buffers]
    data = next(e for e in reads if i.var in set(post_order(*e.indices)))
    weights = next(e for e in reads if j.var in set(post_order(*e.indices)))
    rows, deep = (simplify.linear(e.indices[0])[0] for e in (data, weights))
    dot = next((e for e in nodes if isinstance(e, Call) and e.name in DOTS), None)
    signs = ("bfloat16", "bfloat16")
    if dot is not None:
        signs = DOTS[dot.name] if dot.args[0] is data else DOTS[dot.name][::-1]
    extent = w.steps  # a strategy makes it constant
    axes = (a.var, i.var, c.var, j.var, w.var)
    a_row, b_row = rows.get(i.var, 0), deep.get(w.var, 0)
    return TileBlock(signs, acc, tuple(sums), data, weights, axes, extent, a_row, b_row, wide, configures)
