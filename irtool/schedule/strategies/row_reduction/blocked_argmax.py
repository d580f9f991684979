"""The position of an extreme of a long row: first its block, then its position in the block.

    i = 0, m = lowest; for k: (i, m) = x[k] > m ? (k, x[k]) : (i, m)

    ⇒   for each block b: e[lanes] = the largest of its vectors; (j, m) = e > m ? (b, e) : (j, m)
        m' = the largest of all lanes of m; b' = the first j of a lane with m'
        for u: v[lanes] = x[b', u, :] == m' ? u : v;  u' = the first v; the first lane of vector u' with m'

No positions are counted while blocks are read: an element costs one instruction, the extreme. Numbers of blocks and vectors have
the width of elements. The last block overlaps the one before: the first (or last) of equal elements is in the first (or last)
block with such an element. A NaN is an extreme, and is searched for as one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ....tir import dtypes
from ....tir.expr import (
    Expr,
    Load,
    Select,
    Var,
    cast,
    const,
    logical_or,
    maximum,
    minimum,
    not_equal,
    rewrite,
    select,
    substitute,
)
from ....tir.forms import InOrder, Loop, TupleReduction
from ....tir.stmt import UNROLLED, VECTORIZED, Allocate, Buffer, For, Scope, Stmt, Store, seq
from ...core.affine import simplifier
from ...core.horizontal_reduce import horizontal_reduce
from ...cost.machine import FEWEST_LANES, FOLD_STEPS, TOGETHER, WRITTEN_OUT


@dataclass(frozen=True)
class Blocks:
    """`count` blocks of `vectors` vectors, contiguous apart from the last one. The last block ends at the end of the row; the
    last vector of a single block does, too."""

    steps: int
    lanes: int
    vectors: int
    count: int

    @property
    def size(self) -> int:
        """Steps of a block."""
        return min(self.steps, self.vectors * self.lanes)


def choose_blocks(form: TupleReduction, lanes: int) -> Blocks | None:
    """The blocks of a row; None if the row is short, its blocks exceed numbers of the elements' width, or the reduction is no
    arg-max or arg-min."""
    order = form.in_order
    if order is None or order.extreme is None or len(form.inner) != 1 or len(form.accs) != 2:
        return None
    if any(not isinstance(u, Select) or not isinstance(u.other, Load) for u in order.updates):
        return None
    steps = form.inner[0][1]
    while steps < 2 * lanes and steps >= FOLD_STEPS and lanes > FEWEST_LANES:
        lanes //= 2  # for narrow elements
    if steps < 2 * lanes:
        return None
    vectors = -(-steps // lanes)
    if vectors > WRITTEN_OUT:
        best = math.isqrt(2 * vectors)
        vectors = 1 << best.bit_length() - (best < 3 << best.bit_length() - 2)
    blocks = Blocks(steps, lanes, vectors, -(-steps // (vectors * lanes)))
    return blocks if blocks.count < 1 << 8 * min(dtypes.itemsize(form.accs[1].dtype), 4) - 1 else None


def search_blocks(form: TupleReduction, blocks: Blocks) -> Stmt:
    """The nest that computes the results of a row."""
    assert form.in_order is not None
    return _Search(form, form.in_order, blocks).run()


class _Search:
    """One row. `element(k)` is the compared element of step `k`."""

    def __init__(self, form: TupleReduction, order: InOrder, blocks: Blocks) -> None:
        self.form = form
        self.order = order
        self.blocks = blocks
        self.dtype = form.accs[1].dtype
        self.width = blocks.lanes
        bits = 8 * dtypes.itemsize(dtypes.accumulator_dtype(self.dtype))
        self.number = f"uint{bits}" if bits < 32 else f"int{bits}"
        """The dtype in which blocks, vectors and lanes are counted."""
        self.none = (1 << bits) - 1 if bits < 32 else (1 << 31) - 1
        (v, _) = form.inner[0]
        self.loops: list[Loop] = [*form.loops, form.inner[0]]
        self.step = v
        update = order.updates[1]
        assert isinstance(update, Select)
        self.read = update.then

    def register(self, name: str, rows: int, dtype: str = "") -> Buffer:
        return Buffer(f"{name}_v", (rows, self.width), dtype or self.dtype, Scope.REGISTER)

    def element(self, k: Expr, *loops: Loop) -> Expr:
        """The compared element of step `k`, an expression of these loops."""
        return simplifier([*self.loops, *loops])(substitute(self.read, {self.step: k}))

    def extreme(self, a: Expr, b: Expr) -> Expr:
        """The better one of two elements, or NaN."""
        assert self.order.extreme is not None
        return substitute(self.order.extreme, {self.order.left[1]: a, self.order.right[1]: b})

    def is_found(self, x: Expr, m: Expr) -> Expr:
        """True if an element is the extreme `m`; NaN equals NaN here."""
        return logical_or(x.equal(m), not_equal(x, x)) if dtypes.is_float(self.dtype) else x.equal(m)

    def chosen(self, a: Expr, b: Expr) -> Expr:
        """The position that wins among those of two equal elements."""
        return maximum(a, b) if self.order.last else minimum(a, b)

    def missing(self) -> Expr:
        """A position that loses against every other."""
        return const(0 if self.order.last else self.none, self.number)

    def run(self) -> Stmt:
        blocks = self.blocks
        best, number = self.register("best", 1), self.register("block", 1, self.number)
        lane = Var("lane")
        one = (const(0), lane)
        start = [Store(best, one, self.order.inits[1]), Store(number, one, const(0, self.number))]
        steps: list[Stmt] = [For(lane, self.width, seq(start), VECTORIZED)]
        if blocks.count != 1:
            b = Var("block")
            whole = self.block(b, b * blocks.size, best, number, (b, blocks.count - 1))
            steps.append(For(b, blocks.count - 1, whole))
        last = const(blocks.count - 1)
        steps.append(self.block(last, const(blocks.steps - blocks.size), best, number, None))
        x = Var("lane")
        extreme, folds = horizontal_reduce("best", self.dtype, (x, self.width), best[0, x], self.extreme)
        arrays, m = [extreme], extreme[0]
        begin: Expr = const(0)
        if blocks.count != 1:
            x = Var("lane")
            holding = select(self.is_found(best[0, x], m), number[0, x], self.missing())
            array, more = horizontal_reduce("block", self.number, (x, self.width), holding, self.chosen)
            arrays.append(array)
            folds += more
            begin = minimum(cast(array[0], "int32") * blocks.size, const(blocks.steps - blocks.size))
        stmt: Stmt = seq([*steps, *folds])
        for r in (best, number):
            stmt = Allocate(r, stmt)
        start_at = Buffer("begin", (), "int32", Scope.LOCAL)
        stmt = seq([stmt, Store(start_at, (), begin), self.place(start_at[()], m), *self.form.stores])
        for buffer in (*self.form.accs, *arrays, start_at):
            stmt = Allocate(buffer, stmt)
        return stmt

    def block(self, number: Expr, first: Expr, best: Buffer, numbers: Buffer, loop: Loop | None) -> Stmt:
        """The extremes of a block, with a comparison lane by lane with those before."""
        chains = min(TOGETHER, self.blocks.vectors)
        extremes = self.register("extreme", chains)
        tile, row, lane = Var("tile"), Var("row"), Var("lane")
        around = [loop] if loop is not None else []
        tiles, rest = divmod(self.blocks.vectors, chains)

        def combined(u: Expr, r: Expr, *loops: Loop) -> Stmt:
            x = self.element(first + self.offset(u) + lane, *around, *loops, (lane, self.width))
            return For(lane, self.width, Store(extremes, (r, lane), self.extreme(extremes[r, lane], x)), VECTORIZED)

        worst = For(lane, self.width, Store(extremes, (row, lane), self.order.inits[1]), VECTORIZED)
        steps: list[Stmt] = [For(row, chains, worst, UNROLLED)]
        whole = tiles - (self.overlaps and not rest)
        if whole:
            body = combined(tile * chains + row, row, (tile, whole), (row, chains))
            steps.append(For(tile, whole, For(row, chains, body, UNROLLED)))
        for u in range(whole * chains, self.blocks.vectors):
            steps.append(combined(const(u), const(u % chains)))
        total: Expr = extremes[0, lane]
        for n in range(1, chains):
            total = self.extreme(total, extremes[n, lane])
        tile_values = self.register("made", 1)
        steps.append(For(lane, self.width, Store(tile_values, (const(0), lane), total), VECTORIZED))
        steps.append(self.counted(number, tile_values, best, numbers))
        return Allocate(extremes, Allocate(tile_values, seq(steps)))

    def counted(self, number: Expr, tile_values: Buffer, best: Buffer, numbers: Buffer) -> Stmt:
        """The step of the reduction with a block as one element, in every lane."""
        lane = Var("lane")
        index, value = self.order.updates
        assert isinstance(index, Select) and isinstance(value, Select)

        def change(e: Expr) -> Expr:
            if e is self.read:
                return tile_values[0, lane]
            return best[0, lane] if isinstance(e, Load) and e.source is self.form.accs[1] else e

        taken = rewrite(value.cond, change, {self.read: tile_values[0, lane]})
        stores = [
            Store(numbers, (const(0), lane), select(taken, cast(number, self.number), numbers[0, lane])),
            Store(best, (const(0), lane), select(taken, tile_values[0, lane], best[0, lane])),
        ]
        return For(lane, self.width, seq(stores), VECTORIZED)

    @property
    def overlaps(self) -> bool:
        """True if the last vector of a single block overlaps the one before."""
        return self.blocks.count == 1 and self.blocks.steps % self.width != 0

    def offset(self, u: Expr) -> Expr:
        """The first element of a vector in a block."""
        return (
            minimum(u * self.width, const(self.blocks.size - self.width, u.dtype)) if self.overlaps else u * self.width
        )

    def place(self, begin: Expr, m: Expr) -> Stmt:
        """The position of the extreme in the block from `begin` on, and the element there, in the accumulators."""
        vectors, last = self.blocks.vectors, self.order.last
        register = self.register("vector", 1, self.number)
        lane, tile, row = Var("lane"), Var("tile"), Var("row")
        unrolled = TOGETHER if vectors % TOGETHER == 0 and not self.overlaps else 1
        tile_row = tile * unrolled + row if unrolled > 1 else tile
        u = tile_row if last else vectors - 1 - tile_row
        loops = [(tile, vectors // unrolled), (row, unrolled)]
        x = self.element(begin + self.offset(u) + lane, *loops, (lane, self.width))
        mark = cast(u + 1 if last else u, self.number)
        store = Store(register, (const(0), lane), select(self.is_found(x, m), mark, register[0, lane]))
        look: Stmt = For(lane, self.width, store, VECTORIZED)
        look = For(row, unrolled, look, UNROLLED) if unrolled > 1 else look
        init = For(lane, self.width, Store(register, (const(0), lane), self.missing()), VECTORIZED)
        arrays, folds, within = self.within_block(register)
        searched = Allocate(register, seq([init, For(tile, vectors // unrolled, look), *folds]))
        position, best = self.form.accs
        results = [Store(position, (), cast(begin + within, position.dtype)), Store(best, (), self.at_end(position))]
        stmt: Stmt = seq([searched, *results])
        for array in arrays:
            stmt = Allocate(array, stmt)
        return stmt

    def within_block(self, register: Buffer) -> tuple[list[Buffer], list[Stmt], Expr]:
        """The first (or last) of the positions that the lanes have, each as the number of its vector."""

        def begins(number: Expr) -> Expr:
            return self.offset(number - 1 if self.order.last else number)

        x = Var("lane")
        lane = cast(x, self.number)
        if self.blocks.size < self.none:
            positions = begins(register[0, x]) + (lane + 1 if self.order.last else lane)
            positions = select(register[0, x].equal(self.missing()), self.missing(), positions)
            array, folds = horizontal_reduce("place", self.number, (x, self.width), positions, self.chosen)
            position = cast(array[0], "int32")
            return [array], folds, position - 1 if self.order.last else position
        first, folds = horizontal_reduce("vector", self.number, (x, self.width), register[0, x], self.chosen)
        x = Var("lane")
        held_there = select(register[0, x].equal(first[0]), cast(x, self.number), self.missing())
        lanes, more = horizontal_reduce("lane", self.number, (x, self.width), held_there, self.chosen)
        return [first, lanes], [*folds, *more], begins(cast(first[0], "int32")) + cast(lanes[0], "int32")

    def at_end(self, position: Buffer) -> Expr:
        """The element at the final position."""
        return cast(substitute(self.read, {self.step: cast(position[()], "int32")}), self.dtype)
