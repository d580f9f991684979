"""Windows along rows that are read one after the other, some rows side by side: their elements change places first.

    for r: out[r, 0] = max(x[r, 0], x[r, 1], …); out[r, 1] = max(x[r, 4], …); …

    ⇒   for r_o: for k, lane: turned[k, lane] = x[r_o * 16 + lane, k]                      (in squares, see `tiled_transpose`)
                 for lane: made[0, lane] = max(turned[0, lane], turned[1, lane], …); …     (vectors along lane)
                 for lane, i: out[r_o * 16 + lane, i] = made[i, lane]

Windows of different sizes begin at uneven places, so that no vector along a row has elements of several of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ....tir.expr import Const, Expr, Load, Var, const, rewrite, substitute
from ....tir.simplify import Simplifier
from ....tir.stmt import Buffer, Scope, Store
from ....tir.vector_target import VectorTarget
from ...core.affine import depends, loads, simplifier, stride
from ...core.forms import Loop, Map
from ...cost.machine import TOGETHER


@dataclass(frozen=True)
class TurnedWindows:
    """A map that stores several results of each row: the loop over rows, the element of a row that is read first and how many are
    read, and the rows that are turned at a time."""

    form: Map
    rows: Loop
    first: Load
    width: int
    size: int

    def block(self, number: Var) -> tuple[tuple[Buffer, Buffer], tuple[Map, Map, Map]]:
        """The buffers of a block of rows, and what turns the rows, makes the results and turns them back."""
        (store, *_), count = self.form.stores, len(self.form.stores)
        turned = Buffer("turned", (self.width, self.size), self.first.source.dtype, Scope.LOCAL)
        made = Buffer("made", (count, self.size), store.buffer.dtype, Scope.LOCAL)
        row = self._in_block(number)
        step, lane = Var("step"), Var("lane")
        turn = Map(
            ((step, self.width), (lane, self.size)),
            (
                Store(
                    turned,
                    (step, lane),
                    Load(self.first.source, row(self.first.source, self.first.indices, lane, step)),
                ),
            ),
        )
        lane = Var("lane")
        simplify = Simplifier({lane: (0, self.size - 1)})

        def read(e: Expr) -> Expr:
            if not isinstance(e, Load):
                return e
            return Load(turned, (simplify(e.indices[-1] - self.first.indices[-1]), lane))

        # Averages divide by sizes of windows, which may tell the row, too.
        here: dict[Expr, Expr] = {self.rows[0]: number * self.size + lane}
        results = tuple(
            Store(made, (const(n), lane), rewrite(s.value, read, dict(here))) for n, s in enumerate(self.form.stores)
        )
        make = Map(((lane, self.size),), results)
        lane, result = Var("lane"), Var("i")
        back = Map(
            ((lane, self.size), (result, count)),
            (Store(store.buffer, row(store.buffer, store.indices, lane, result), Load(made, (result, lane))),),
        )
        return (turned, made), (turn, make, back)

    def _in_block(self, number: Var) -> Callable[[Buffer, Sequence[Expr], Var, Var], tuple[Expr, ...]]:
        """What gives the indices of an element of a row of a block, so far behind others in that row. All but the last are 0: without
        divisions of the row's number, which the number of the block is in, too, it is plain that rows lie evenly."""
        v, rows = self.rows
        others: dict[Expr, tuple[float, float]] = {x: (0, n - 1) for x, n in self.form.loops if x is not v}

        def row(buffer: Buffer, indices: Sequence[Expr], lane: Var, along: Var) -> tuple[Expr, ...]:
            ranges = {number: (0, rows // self.size - 1), lane: (0, self.size - 1), along: (0, self.width - 1)}
            here: dict[Expr, Expr] = {v: number * self.size + lane}
            place = substitute(buffer.offset(indices), here)
            return (*(const(0) for _ in indices[:-1]), Simplifier({**others, **ranges})(place + along))

        return row

    def rest(self) -> Map | None:
        """The rows that are left; None if there are none."""
        v, rows = self.rows
        left = rows % self.size
        if not left:
            return None
        own = Var(v.name, v.dtype)
        here: dict[Expr, Expr] = {v: own + (rows - left)}
        loops = tuple((own, left) if x is v else (x, n) for x, n in self.form.loops)
        simplify = simplifier(loops)

        def change(e: Expr) -> Expr:
            return simplify(substitute(e, here))

        stores = (s.rewritten(change) for s in self.form.stores)
        return Map(loops, tuple(stores))


def find_turned_windows(m: Map, target: VectorTarget) -> TurnedWindows | None:
    """None unless results of each row lie side by side, as do the elements that all of them are made of."""
    if not m.loops or len(m.stores) < 2:
        return None
    (v, rows), simplify = m.loops[-1], simplifier(m.loops)
    read = list(dict.fromkeys(loads(*(s.value for s in m.stores))))
    lanes = target.lanes(4)
    size = next((n * lanes for n in (TOGETHER, 2, 1) if n * lanes <= rows), 0)
    if lanes < 4 or not size or not read or len({e.source for e in read}) > 1:
        return None
    if read[0].source.layout is not None or m.stores[0].buffer.layout is not None:
        return None
    distances = [_apart(simplify, e.indices, read[0].indices) for e in read]
    stored = [_apart(simplify, s.indices, m.stores[0].indices) for s in m.stores]
    if stored != list(range(len(m.stores))) or len({s.buffer for s in m.stores}) > 1:
        return None
    known = [d for d in distances if d is not None]
    if len(known) < len(distances):
        return None
    first = read[distances.index(min(known))]
    width = max(known) - min(known) + 1
    moves = stride(simplify, first.source.offset(first.indices), v)
    if moves is None or moves < 2 or any(depends(i, v) for i in (first.indices[-1], m.stores[0].indices[-1])):
        return None
    return TurnedWindows(m, (v, rows), first, width, size)


def _apart(simplify: Simplifier, indices: Sequence[Expr], others: Sequence[Expr]) -> int | None:
    """How far one element is behind another in the same row; None if that is not known."""
    *outer, last = (simplify(i - j) for i, j in zip(indices, others, strict=True))
    if not isinstance(last, Const) or any(not isinstance(d, Const) or d.value for d in outer):
        return None
    return int(last.value)
