"""Tiles of accumulators that instructions for products of matrices can fill.

    for l in 4: acc[0, 0, l] += dot8_u8s8(x[0], w[l])               lo = rows 0 and 1 by columns 0 and 1
    for l in 4: acc[1, 0, l] += dot8_u8s8(x[1], w[l])          ⇒    hi = rows 0 and 1 by columns 2 and 3

Two rows of a tile share two accumulators while it is summed; after the last sum, each gets back its own results. That needs
accumulators that begin at 0 and are read by such sums alone until then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...tir.expr import Binary, Const, Expr, Load, const, post_order
from ...tir.simplify import Simplifier
from ...tir.stmt import VECTORIZED, Buffer, For, Scope, Seq, Stmt, Store, children, expressions, pre_order
from ..runs import long_dot
from .lower import constant_indices

LANES = 4
"""Results of an instruction: two rows by two columns."""


@dataclass(frozen=True, eq=False)
class Update:
    """Four sums of a row: what they read of it, and where in a buffer each column's word lies."""

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
        columns_first: whether the columns are its first operand.
        updates: the loops that add to the accumulators, with what each adds.
        before, during, after: the statements until the first of them, with the first to the last, and then.
    """

    acc: Buffer
    dot: str
    columns_first: bool
    updates: dict[For, Update] = field(repr=False)
    before: tuple[Stmt, ...]
    during: tuple[Stmt, ...]
    after: tuple[Stmt, ...]

    def partner(self, row: tuple[int, ...]) -> tuple[int, ...] | None:
        """The accumulators of the row that shares its instructions; None where the last one has none."""
        if len(row) < 2:
            return None
        other = row[0] ^ 1
        return (other, *row[1:]) if other < self.acc.shape[0] else None


def find_matrix_tile(acc: Buffer, body: Stmt, simplify: Simplifier) -> MatrixTile | None:
    """The accumulators of a body as such a tile; None if they are none."""
    if acc.scope != Scope.REGISTER or acc.dtype != "int32" or acc.shape[-1] != LANES:
        return None
    stmts = body.stmts if isinstance(body, Seq) else (body,)
    sums = [n for n, s in enumerate(stmts) if _has_sum(s)]
    if not sums:
        return None
    before, during, after = stmts[: sums[0]], stmts[sums[0] : sums[-1] + 1], stmts[sums[-1] + 1 :]
    found: dict[For, Update] = {}
    kinds: set[tuple[str, bool]] = set()
    for s in _touching(during, acc):
        update = _update(s, acc, simplify) if isinstance(s, For) else None
        if update is None:
            return None
        kinds.add(update[1])
        assert isinstance(s, For)
        found[s] = update[0]
    if len(kinds) != 1 or not all(_is_zeroed(s, acc) for s in _touching(before, acc)):
        return None
    ((dot, columns_first),) = kinds
    return MatrixTile(acc, dot, columns_first, found, tuple(before), tuple(during), tuple(after))


def _has_sum(s: Stmt) -> bool:
    return any(isinstance(x, Store) and long_dot(x) is not None for x in pre_order(s))


def _touching(stmts: Sequence[Stmt], acc: Buffer) -> list[Stmt]:
    """The vectorized loops, and the other single statements, that read or write accumulators."""
    found: dict[Stmt, None] = {}
    stack = list(reversed(stmts))
    while stack:
        s = stack.pop()
        if isinstance(s, For) and s.kind == VECTORIZED:
            if any(_touches(x, acc) for x in pre_order(s)):
                found[s] = None
            continue
        if _touches(s, acc):
            found[s] = None
        stack.extend(reversed(children(s)))
    return list(found)


def _touches(s: Stmt, acc: Buffer) -> bool:
    read = (e.source for r in expressions(s) for e in post_order(r) if isinstance(e, Load))
    return (isinstance(s, Store) and s.buffer is acc) or any(b is acc for b in read)


def _is_zeroed(s: Stmt, acc: Buffer) -> bool:
    return isinstance(s, For) and all(
        isinstance(x.value, Const) and not x.value.value for x in pre_order(s) if isinstance(x, Store)
    )


def _update(s: For, acc: Buffer, simplify: Simplifier) -> tuple[Update, tuple[str, bool]] | None:
    """What a loop over lanes adds, with the dot product and whether the columns are its first operand."""
    store = s.body
    added = long_dot(store) if isinstance(store, Store) and store.buffer is acc else None
    if not isinstance(store, Store) or not isinstance(store.value, Binary) or added is None:
        return None
    old = store.value.a
    if not isinstance(old, Load) or old.source is not acc or not _is_extent(s.extent):
        return None
    at = constant_indices(store.indices[:-1])
    if len(at) + 1 != len(store.indices) or at != constant_indices(old.indices[:-1]):
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
    places = tuple(simplify.at(index, {s.var: simplify(const(n, s.var.dtype))}) for n in range(LANES))
    return Update(at, word, columns.source, places), (added.name, moving[0])


def _is_extent(e: Expr) -> bool:
    return isinstance(e, Const) and e.value == LANES
