"""The nest of a sum in matrix tiles: blocks of sums in an array on the stack, then the epilogue, in vectors.

    for columns: for rows:
      for tile in 1 tiled:                                    (a backend may have instructions for this loop)
        for a, i, c, j: acc[a, i, c, j] = 0
        for k: for a, i, c, j: for w in 16: acc[a, i, c, j] += dot4_u8s8(x[…], weights[…])
      for c: for a, i: out[…] = f(acc[a, i, c, :])            (vectors of 16 columns)

Results that are contiguous along rows get a copy of the sums, transposed in squares, and vectors along rows.

The loop `tiled` is the meaning of the instructions: `a` and `c` are the tiles of a block, `i` and `j` rows and columns of a tile,
`w` the words of the sum in a tile. Tiles of bfloat16 numbers sum the first numbers of these words and the second ones separately,
and add both to their sum (Intel, Software Developer's Manual, TDPBF16PS)::

    for k: for a, i, c, j: first = second = 0
                           for w in 16: first += x0 * weights0; second += x1 * weights1
                           acc[a, i, c, j] += first + second
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ....tir.bf16_dot import DOT_PAIR, numbers_of
from ....tir.expr import Binary, Call, Expr, Load, Var, const, rewrite, substitute, variables
from ....tir.forms import loops_around
from ....tir.simplify import Simplifier
from ....tir.stmt import PARALLEL, TILED, VECTORIZED, Allocate, Buffer, For, Scope, Stmt, Store, seq
from ....tir.vector_target import VectorTarget
from ...core.affine import simplifier
from ...core.forms import Loop, Reduction
from ...instructions.matrix_tiles import WORDS, MatrixTiling, Segment


def nest_in_tiles(r: Reduction, t: MatrixTiling, target: VectorTarget, serial: bool) -> Stmt:
    """The full nest. Threads share the loops around the blocks, unless it is `serial` or small."""
    shared = not serial and r.work >= target.parallel_updates
    together = len(t.rows.segments) == 1 or not shared or t.columns.blocks >= target.joined_parts
    nests: list[Stmt] = []
    for q in t.columns.segments:
        outer, inner = _loops_around(r, t)
        column, columns = _loop(f"{t.columns.axis[0].name}_o", q.blocks)
        parts: list[Stmt] = []
        around = [*outer, *columns]
        for p in t.rows.segments:
            row, rows = _loop(f"{t.rows.axis[0].name}_o", p.blocks)
            body = _Block(r, t, p, q, row, column, [*around, *inner, *rows]).nest()
            if len(t.rows.segments) == 1:
                around = [*around, *inner, *rows]
                parts.append(body)
            elif together:
                parts.append(loops_around([*inner, *rows], body))
            else:
                parts.append(_around([*around, *inner, *rows], body, target, shared))
        nests.append(_around(around, seq(parts), target, shared) if together else seq(parts))
    return seq(nests)


def _loop(name: str, extent: int) -> tuple[Expr, list[Loop]]:
    """The number of a block, and the loop over blocks; 0 and no loop for a single block."""
    v = Var(name)
    return (v, [(v, extent)]) if extent != 1 else (const(0), [])


def _loops_around(r: Reduction, t: MatrixTiling) -> tuple[list[Loop], list[Loop]]:
    """The axes of results that tiles do not divide: those that the weights depend on, to go outside of the columns, then the
    others."""
    divided = {*t.rows.variables, *t.columns.variables}
    left = [x for x in r.loops if x[0] not in divided and x[1] > 1]
    used = set(variables(*t.weights.indices))
    return [x for x in left if x[0] in used], [x for x in left if x[0] not in used]


def _around(loops: Sequence[Loop], body: Stmt, target: VectorTarget, shared: bool) -> Stmt:
    """Loops around a body. Threads share as many of the outermost ones as give each thread enough work."""
    parts = 1
    kinds: list[str] = []
    for _, n in loops:
        kinds.append(PARALLEL if shared and parts < target.most_parts else "serial")
        parts *= n
    for (v, n), kind in reversed(list(zip(loops, kinds, strict=True))):
        body = For(v, n, body, kind)
    return body


@dataclass(frozen=True)
class _Block:
    """One block of tiles: the sums of segment `p` of the rows and segment `q` of the columns, for given numbers of blocks."""

    r: Reduction
    t: MatrixTiling
    p: Segment
    q: Segment
    row: Expr
    column: Expr
    around: Sequence[Loop]

    def nest(self) -> Stmt:
        """The sums and their epilogue."""
        acc = self.r.acc.replace(shape=(self.p.tiles, self.t.rows.size, self.q.tiles, WORDS), scope=Scope.LOCAL)
        sums = For(Var("tile"), 1, seq([self._cleared(acc), self._summed(acc)]), TILED)
        if self.t.transposed:
            return Allocate(acc, seq([sums, self._transposed_results(acc)]))
        return Allocate(acc, seq([sums, *self._results(acc)]))

    def _places(self, a: Expr, i: Expr, c: Expr, j: Expr) -> dict[Expr, Expr]:
        """The axes of results for an element of the block; 0 for axes of one step."""
        values: dict[Expr, Expr] = {v: const(0) for v, n in self.r.loops if n == 1}
        return {
            **values,
            **self.t.rows.place(self.p, self.row, a, i),
            **self.t.columns.place(self.q, self.column, c, j),
        }

    def _axes(self, acc: Buffer) -> list[Loop]:
        return [(Var(name), n) for name, n in zip("aicj", acc.shape, strict=True)]

    def _cleared(self, acc: Buffer) -> Stmt:
        loops = self._axes(acc)
        return loops_around(loops, Store(acc, [v for v, _ in loops], self.r.init))

    def _summed(self, acc: Buffer) -> Stmt:
        """The loops of the sum around those of a block."""
        loops = self._axes(acc)
        indices = tuple(v for v, _ in loops)
        k, extent = self.t.summed
        word = (Var("w"), self.t.steps)
        values = self._places(*indices)
        sums: list[Loop] = []
        for v, n in self.r.inner:
            if v is k:
                block, inner_sums = _loop(f"{k.name}_o", extent // self.t.steps)
                values[v] = block * self.t.steps + word[0]
                sums += inner_sums
            elif n == 1:
                values[v] = const(0)
            else:
                sums.append((v, n))
        simplify = simplifier(self.around, sums, loops, [word])
        data, weights = (simplify(substitute(e, values)) for e in (self.t.data, self.t.weights))
        acc_at = Load(acc, indices)
        if self.t.name == DOT_PAIR:
            body = _pairs(acc_at, word, data, weights)
        else:
            assert isinstance(self.r.update, Binary) and isinstance(self.r.update.b, Call)
            operands = (data, weights) if self.r.update.b.args[0] is self.t.data else (weights, data)
            added = Binary("+", acc_at, Call(self.t.name, operands, acc.dtype), acc.dtype)
            body = loops_around([word], Store(acc, indices, added))
        return loops_around([*sums, *loops], body)

    def _results(self, acc: Buffer) -> list[Stmt]:
        """The epilogues of the sums, in vectors along columns."""
        tiles, height, columns, _ = acc.shape
        stmts: list[Stmt] = []
        whole = columns if self.q.valid == WORDS and not self.q.skip else columns - 1
        if whole:
            c, loop = _loop("c", whole)
            stmts.append(loops_around(loop, self._column(acc, c, 0, WORDS, (tiles, height))))
        column = self.q.skip
        while whole < columns and column < self.q.valid:
            width = 1 << (self.q.valid - column).bit_length() - 1
            stmts.append(self._column(acc, const(columns - 1), column, width, (tiles, height)))
            column += width
        return stmts

    def _column(self, acc: Buffer, c: Expr, first: int, width: int, block: tuple[int, int]) -> Stmt:
        """The results of some columns of a tile, in all rows that no other block computes."""
        tiles, _height = block
        if not self.p.skip:
            a, outer = _loop("a", tiles)
            return loops_around(outer, self._rows(acc, a, c, 0, first, width))
        parts = [self._rows(acc, const(0), c, self.p.skip, first, width)]
        parts += [self._rows(acc, const(n), c, 0, first, width) for n in range(1, tiles)]
        return seq(parts)

    def _rows(self, acc: Buffer, a: Expr, c: Expr, skip: int, first: int, width: int) -> Stmt:
        height = acc.shape[1]
        number, rows = _loop("i", height - skip)
        i = number + skip
        lane = Var("j")
        j = lane + first if width > 1 else const(first)
        own = [x for x in (a, c) if isinstance(x, Var)]
        simplify = simplifier(self.around, rows, [(lane, width)], [(x, WORDS) for x in own])
        body = self._stores(self._places(a, i, c, j), Load(acc, (a, i, c, j)), simplify)
        if width > 1:
            body = For(lane, width, body, VECTORIZED)
        return loops_around(rows, body)

    def _stores(self, values: dict[Expr, Expr], sum_at: Load, simplify: Simplifier) -> Stmt:
        """The stores of a result whose axes have these values, from its sum."""
        change = self._reads(sum_at)
        memo = dict(values)
        return seq(
            [
                Store(
                    s.buffer,
                    [simplify(rewrite(x, change, memo)) for x in s.indices],
                    simplify(rewrite(s.value, change, memo)),
                )
                for s in self.r.stores
            ]
        )

    def _transposed_results(self, acc: Buffer) -> Stmt:
        """The epilogues of the sums, in vectors along rows, of a copy of the sums with rows innermost."""
        tiles, height, columns, _ = acc.shape
        rows = acc.replace(name="transposed", shape=(columns, WORDS, tiles, height))
        copies: list[Stmt] = []
        stmts: list[Stmt] = []
        for n in range(columns):
            valid = range(self.q.skip, self.q.valid if n == columns - 1 else WORDS)
            for a in range(tiles):
                for first, size in _powers(height):
                    copies.append(_square(acc, rows, a, n, first, size))
                skip = self.p.skip if a == 0 else 0
                parts = [
                    self._along_rows(rows, a, n, skip + first, size, valid) for first, size in _powers(height - skip)
                ]
                stmts += parts
        return Allocate(rows, seq([*copies, *stmts]))

    def _along_rows(self, rows: Buffer, a: int, c: int, first: int, size: int, valid: range) -> Stmt:
        """The results of some rows of a tile, in the columns that are results of this block."""
        number, columns = _loop("j", len(valid))
        j = number + valid.start
        lane = Var("i")
        i = lane + first if size > 1 else const(first)
        simplify = simplifier(self.around, columns, [(lane, size)])
        values = self._places(const(a), i, const(c), j)
        body = self._stores(values, Load(rows, (const(c), j, const(a), i)), simplify)
        if size > 1:
            body = For(lane, size, body, VECTORIZED)
        return loops_around(columns, body)

    def _reads(self, acc_at: Load) -> Callable[[Expr], Expr]:
        return lambda e: acc_at if isinstance(e, Load) and e.source is self.r.acc else e


def _pairs(acc_at: Load, word: Loop, data: Expr, weights: Expr) -> Stmt:
    """The sums of a tile's pairs: of the first numbers, of the second ones, and of both."""
    acc = acc_at.source
    assert isinstance(acc, Buffer)
    halves = [Buffer(name, (), "float32", Scope.LOCAL) for name in ("first", "second")]
    steps = [
        Store(b, (), b.element() + x * w) for b, x, w in zip(halves, numbers_of(data), numbers_of(weights), strict=True)
    ]
    total = halves[0].element() + halves[1].element()
    body = seq(
        [
            *(Store(b, (), const(0.0, "float32")) for b in halves),
            loops_around([word], seq(steps)),
            Store(acc, acc_at.indices, acc_at + total),
        ]
    )
    for b in reversed(halves):
        body = Allocate(b, body)
    return body


def _powers(count: int) -> list[tuple[int, int]]:
    """The first element and the length of vectors along `count` elements: the powers of two that add up to it."""
    parts, first = [], 0
    while first < count:
        size = min(WORDS, 1 << (count - first).bit_length() - 1)
        parts.append((first, size))
        first += size
    return parts


def _square(acc: Buffer, rows: Buffer, a: int, c: int, first: int, size: int) -> Stmt:
    """The transpose of some rows of a tile, in squares."""
    square, j, i = Var("square"), Var("j"), Var("i")
    column = square * size + j if size < WORDS else j
    row = i + first
    copy: Stmt = Store(rows, (const(c), column, const(a), row), Load(acc, (const(a), row, const(c), column)))
    if size == 1:
        place = (const(c), j, const(a), const(first))
        return For(j, WORDS, Store(rows, place, Load(acc, (const(a), const(first), const(c), j))))
    copy = For(j, size, For(i, size, copy, VECTORIZED))
    return For(square, WORDS // size, copy) if size < WORDS else copy
