"""Short rows that are looked through, some of them side by side: their elements change places first.

    for r: for k: (i, m) = x[r, k] > m ? (k, x[r, k]) : (i, m)

    ⇒   for r_o: for k, lane: turned[k, lane] = x[r_o * 64 + lane, k]                  (in squares, see `tiled_transpose`)
                 for lane: for k: (i, m) = turned[k, lane] > m ? … : (i, m)            (vectors along lane)

Lanes of one row, each with every 16th step, would have to be combined at its end, which takes longer than the steps of a short row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ....tir import dtypes
from ....tir.expr import Expr, Load, Var, substitute, substitution
from ....tir.forms import Loop, Map, TupleReduction
from ....tir.simplify import Simplifier
from ....tir.stmt import Buffer, Scope, Store
from ....tir.vector_target import VectorTarget
from ...core.affine import loads, simplifier, stride
from ...cost.machine import FEWEST_LANES, LOOKED_AT, TOGETHER


@dataclass(frozen=True)
class TurnedRows:
    """The loop over rows and the one over their steps, and how many rows are turned at a time: `count` times so many of them."""

    rows: Loop
    steps: Loop
    operand: Load
    size: int

    @property
    def count(self) -> int:
        """Blocks of rows."""
        return self.rows[1] // self.size

    def block(self, form: TupleReduction, number: Var) -> tuple[Buffer, Map, TupleReduction]:
        """The buffer of turned rows of a block, what fills it, and what is found in it, over rows of this block."""
        (v, _), (k, extent) = self.rows, self.steps
        buffer = Buffer("turned", (extent, self.size), self.operand.source.dtype, Scope.LOCAL)
        step, lane, row = Var(k.name), Var("lane"), Var(v.name)
        ranges = {x: (0, n - 1) for x, n in form.loops if x is not v}
        simplify = Simplifier({**ranges, step: (0, extent - 1), lane: (0, self.size - 1), row: (0, self.size - 1)})
        here: dict[Expr, Expr] = {v: number * self.size + lane, k: step}
        at = tuple(simplify(substitute(i, here)) for i in self.operand.indices)
        turn = Map(((step, extent), (lane, self.size)), (Store(buffer, (step, lane), Load(self.operand.source, at)),))
        values = substitution({self.operand: Load(buffer, (k, row)), v: number * self.size + row})

        def change(e: Expr) -> Expr:
            return simplify(values(e))

        order = form.in_order
        assert order is not None
        stores = tuple(s.rewritten(change) for s in form.stores)
        own = replace(order, updates=tuple(map(change, order.updates)))
        return buffer, turn, replace(form, loops=((row, self.size),), stores=stores, in_order=own)


def find_turned_rows(form: TupleReduction, target: VectorTarget) -> TurnedRows | None:
    """None unless there is one operand, whose short rows lie one after the other along the innermost loop, of which results lie side
    by side along the last one over results."""
    if form.in_order is None or len(form.inner) != 1 or not form.loops:
        return None
    (k, extent), (v, rows) = form.inner[0], form.loops[-1]
    simplify = simplifier(form.loops, form.inner)
    read = list(dict.fromkeys(e for e in loads(*form.in_order.updates) if e.source not in form.accs))
    beside = [e for s in form.stores for e in loads(s.value) if e.source not in form.accs]
    if len(read) != 1 or beside or not FEWEST_LANES <= extent <= LOOKED_AT:
        return None
    place = read[0].source.offset(read[0].indices)
    if stride(simplify, place, k) != 1 or (stride(simplify, place, v) or 0) < extent:
        return None
    if any(stride(simplify, s.buffer.offset(s.indices), v) != 1 for s in form.stores):
        return None
    item = dtypes.itemsize(read[0].dtype)
    lanes = min(target.lanes(max(item, 4 if dtypes.is_float(b.dtype) else dtypes.itemsize(b.dtype))) for b in form.accs)
    size = next(
        (n * lanes for n in (TOGETHER, 2, 1) if n * lanes <= rows and _fits(n * lanes * extent * item, target)), 0
    )
    if lanes < 4 or not size or (rows % size > rows // TOGETHER and extent >= 2 * lanes):
        return None
    return TurnedRows((v, rows), (k, extent), read[0], size)


def _fits(size: int, target: VectorTarget) -> bool:
    """True if the turned rows stay in the L1 cache, beside those that they are made from."""
    return size <= target.scratch_bytes * 3 // 4
