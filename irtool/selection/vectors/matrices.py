"""Tiles of accumulators for instructions for products of matrices.

    for l in 4: acc[0, 0, l] += dot8_u8s8(x[0], w[l])               lo = rows 0 and 1 by columns 0 and 1
    for l in 4: acc[1, 0, l] += dot8_u8s8(x[1], w[l])          ⇒    hi = rows 0 and 1 by columns 2 and 3

Two rows of a tile share two accumulators during the sums; after the last sum, each gets its own results. That requires
accumulators that begin at 0 and that only such sums read until then. A row without a partner has a spare accumulator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import is_

from ...tir.expr import Binary, Const, Expr, Load, const, post_order
from ...tir.int8_dot import LONG, MATRICES
from ...tir.simplify import Simplifier
from ...tir.stmt import VECTORIZED, Buffer, For, Scope, Seq, Stmt, Store, children, expressions, pre_order
from ..runs import long_dot
from .ir import Apply, Assign, Body, Build, LoadVector, Read, Register, Splat, Value
from .lower import constant_indices
from .types import VectorType

LANES = 4
"""Results of an instruction: two rows by two columns."""

PRODUCTS = {name: f"dot{LONG}_{name.split('_')[1]}" for name in MATRICES}
"""The products by name, with the dot product of long words that each consists of."""

REORDERED = {
    "halves_low": (0, 1, 4, 5),
    "halves_high": (2, 3, 6, 7),
    "pairs_even": (0, 2, 4, 6),
    "pairs_odd": (1, 3, 5, 7),
}
"""The elements of two accumulators that form a row: the first two functions for rows as the first operand, the others for
columns."""

_SUMS, _WORDS = VectorType("int32", LANES), VectorType("int64", 2)


@dataclass(frozen=True, eq=False)
class Update:
    """Four sums of a row: the row's operand, and the offset of each column's word in a buffer."""

    row: tuple[int, ...]
    word: Expr
    columns: Buffer
    places: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class MatrixTile:
    """Accumulators whose sums are products of matrices.

    Attributes:
        acc: the accumulators.
        dot: the dot product of each sum.
        columns_first: the columns are its first operand.
        updates: the loops that add to the accumulators, with the terms of each.
        before, during, after: the statements before the first of these loops, from the first to the last, and after it.
    """

    acc: Buffer
    dot: str
    columns_first: bool
    updates: dict[For, Update] = field(repr=False)
    before: tuple[Stmt, ...]
    during: tuple[Stmt, ...]
    after: tuple[Stmt, ...]

    def partner(self, row: tuple[int, ...]) -> tuple[int, ...] | None:
        """The accumulators of the row with the same instructions; None for a last row without a partner."""
        if len(row) < 2:
            return None
        other = row[0] ^ 1
        return (other, *row[1:]) if other < self.acc.shape[0] else None


def find_matrix_tile(acc: Buffer, body: Stmt, simplify: Simplifier) -> MatrixTile | None:
    """The accumulators of a body as such a tile; None for others."""
    if acc.scope != Scope.REGISTER or acc.dtype != "int32" or acc.shape[-1] != LANES:
        return None
    stmts = body.stmts if isinstance(body, Seq) else (body,)
    sums = [n for n, s in enumerate(stmts) if _has_sum(s)]
    if not sums:
        return None
    before, during, after = stmts[: sums[0]], stmts[sums[0] : sums[-1] + 1], stmts[sums[-1] + 1 :]
    updates: dict[For, Update] = {}
    kinds: set[tuple[str, bool]] = set()
    for s in _touching(during, acc):
        update = _update(s, acc, simplify) if isinstance(s, For) else None
        if update is None:
            return None
        kinds.add(update[1])
        assert isinstance(s, For)
        updates[s] = update[0]
    if len(kinds) != 1 or not all(_is_zeroed(s, acc) for s in _touching(before, acc)):
        return None
    ((dot, columns_first),) = kinds
    return MatrixTile(acc, dot, columns_first, updates, tuple(before), tuple(during), tuple(after))


def _has_sum(s: Stmt) -> bool:
    return any(isinstance(x, Store) and long_dot(x) is not None for x in pre_order(s))


def _touching(stmts: Sequence[Stmt], acc: Buffer) -> list[Stmt]:
    """The vectorized loops, and the other single statements, that read or write accumulators."""
    touching: dict[Stmt, None] = {}
    stack = list(reversed(stmts))
    while stack:
        s = stack.pop()
        if isinstance(s, For) and s.kind == VECTORIZED:
            if any(_touches(x, acc) for x in pre_order(s)):
                touching[s] = None
            continue
        if _touches(s, acc):
            touching[s] = None
        stack.extend(reversed(children(s)))
    return list(touching)


def _touches(s: Stmt, acc: Buffer) -> bool:
    read = (e.source for r in expressions(s) for e in post_order(r) if isinstance(e, Load))
    return (isinstance(s, Store) and s.buffer is acc) or any(b is acc for b in read)


def _is_zeroed(s: Stmt, acc: Buffer) -> bool:
    return isinstance(s, For) and all(
        isinstance(x.value, Const) and not x.value.value for x in pre_order(s) if isinstance(x, Store)
    )


def _update(s: For, acc: Buffer, simplify: Simplifier) -> tuple[Update, tuple[str, bool]] | None:
    """The sums of a loop over lanes, with the dot product, and True if the columns are its first operand."""
    store = s.body
    added = long_dot(store) if isinstance(store, Store) and store.buffer is acc else None
    if not isinstance(store, Store) or not isinstance(store.value, Binary) or added is None:
        return None
    old = store.value.a
    if not isinstance(old, Load) or old.source is not acc or not _is_extent(s.extent):
        return None
    indices = constant_indices(store.indices[:-1])
    if len(indices) + 1 != len(store.indices) or indices != constant_indices(old.indices[:-1]):
        return None
    if store.indices[-1] is not s.var or old.indices[-1] is not s.var:
        return None
    moving = [any(x is s.var for x in post_order(a)) for a in added.args]
    if sum(moving) != 1:
        return None
    columns, word = added.args[moving.index(True)], added.args[moving.index(False)]
    if not isinstance(columns, Load) or not isinstance(columns.source, Buffer) or len(columns.indices) != 1:
        return None
    if columns.source.scope == Scope.REGISTER or any(isinstance(x, Load) and x.source is acc for x in post_order(word)):
        return None
    index = simplify(columns.indices[0])
    positions = tuple(simplify.at(index, {s.var: simplify(const(n, s.var.dtype))}) for n in range(LANES))
    return Update(indices, word, columns.source, positions), (added.name, moving[0])


def _is_extent(e: Expr) -> bool:
    return isinstance(e, Const) and e.value == LANES


class MatrixLowering:
    """The vectors of one tile's sums."""

    def __init__(self, tile: MatrixTile, simplify: Simplifier) -> None:
        self.tile = tile
        self.simplify = simplify
        self.product = next(name for name, dot in PRODUCTS.items() if dot == tile.dot)
        self.rows = sorted({u.row for u in tile.updates.values()})
        alone = [row for row in self.rows if tile.partner(row) is None]
        self.spare = Buffer(f"{tile.acc.name}_spare", (len(alone), LANES), tile.acc.dtype, Scope.REGISTER)
        """The second accumulators of rows without a partner."""
        self.second: dict[tuple[int, ...], Register] = {row: (self.spare, (n,)) for n, row in enumerate(alone)}

    def begin(self) -> Body:
        """Sets the spare accumulators to 0."""
        zeros = [Splat(_SUMS, const(0)) for _ in self.second]
        return Body([*zeros, *(Assign(r, z) for r, z in zip(self.second.values(), zeros, strict=True))])

    def sums(self, loops: Sequence[Stmt]) -> Body:
        """Consecutive sums: those of two rows for the same columns together; each operand is read once."""
        body = Body(functions=[(self.product, *_SUMS)])
        remaining = [self.tile.updates[s] for s in loops if isinstance(s, For)]
        words: dict[tuple[int, Expr, Expr | None], Value] = {}
        columns: dict[tuple[Expr, ...], list[Value]] = {}
        while remaining:
            one = remaining.pop(0)
            other = self._sharing(one, remaining)
            if other is not None:
                remaining.remove(other)
            both = (one, other) if other is None or one.row < other.row else (other, one)
            key = (one.row[0] % 2 if other is None else 0, both[0].word, both[1].word if both[1] else None)
            if key not in words:
                words[key] = _named(self._words(*both), body)
            if one.places not in columns:
                pairs = (one.places[:2], one.places[2:])
                columns[one.places] = [_named(self._two(one.columns, *p), body) for p in pairs]
            for register, column in zip(self._accumulators(one.row), columns[one.places], strict=True):
                operands = (column, words[key]) if self.tile.columns_first else (words[key], column)
                old = Read(_SUMS, register)
                value = Apply(_SUMS, (self.product, *_SUMS), (old, *operands))
                body.steps += [old, value, Assign(register, value)]
        return body

    def end(self) -> Body:
        """Puts the accumulators into the order of rows."""
        names = list(REORDERED)[2:] if self.tile.columns_first else list(REORDERED)[:2]
        body = Body(functions=[(name, *_SUMS) for name in names])
        for registers in dict.fromkeys(map(self._accumulators, self.rows)):
            low, high = (Read(_SUMS, r) for r in registers)
            low.named = registers[1][0] is not self.spare
            body.steps += [low, high]
            # A spare accumulator is the second row of none.
            for register, name in list(zip(registers, names, strict=True))[: 2 if low.named else 1]:
                value = Apply(_SUMS, (name, *_SUMS), (low, high))
                body.steps += [value, Assign(register, value)]
        return body

    def _sharing(self, one: Update, others: Sequence[Update]) -> Update | None:
        """The update of the other row of a pair, for the same columns; None without one."""
        partner = self.tile.partner(one.row)
        return next((u for u in others if u.row == partner and all(map(is_, u.places, one.places))), None)

    def _words(self, even: Update, odd: Update | None) -> Value:
        """The words of two rows; zeros in place of a missing row."""
        if odd is None:
            is_odd = len(even.row) > 1 and even.row[0] % 2
            zero = const(0, _WORDS.dtype)
            return Build(_WORDS, (zero, even.word) if is_odd else (even.word, zero))
        a, b = even.word, odd.word
        if isinstance(a, Load) and isinstance(b, Load) and a.source is b.source and isinstance(a.source, Buffer):
            if len(a.indices) == len(b.indices) == 1:
                return self._two(a.source, self.simplify(a.indices[0]), self.simplify(b.indices[0]))
        return Build(_WORDS, (a, b))

    def _two(self, b: Buffer, first: Expr, second: Expr) -> Value:
        """Two words of a buffer, in one read if they are contiguous."""
        apart = self.simplify(second - first)
        if isinstance(apart, Const) and apart.value == 1:
            return LoadVector(_WORDS, b, first, 1, _WORDS.lanes)
        return Build(_WORDS, (Load(b, (first,)), Load(b, (second,))))

    def _accumulators(self, row: tuple[int, ...]) -> tuple[Register, Register]:
        """The registers of the first two columns and of the other two."""
        partner = self.tile.partner(row)
        if partner is None:
            return (self.tile.acc, row), self.second[row]
        return (self.tile.acc, min(row, partner)), (self.tile.acc, max(row, partner))


def _named(value: Value, body: Body) -> Value:
    value.named = True
    body.steps.append(value)
    return value
