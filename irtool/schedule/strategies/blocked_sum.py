"""Sums so long that the weights of one tile leave a cache: made some steps at a time, for many rows.

    for panel: for rows:                         for panel:
      acc = 0                                      part[…] = 0
      for k: acc += x[rows, k] * w[panel, k]  ⇒    for blocks of k: for rows: part[rows] += sum of x * w over the block
      out[rows] = f(acc)                           for rows: out[rows] = f(part[rows] + sum over the last block)

All rows read a block of weights while it is in the first cache, and ask for the next one meanwhile; sums wait in an array between
the blocks (Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication, 2008). The order of summation stays, and
with it every bit of the results.

Of rows that lie whole, one behind the other, a block reads short pieces, far apart. That costs more than weights do which stay in the
second cache, from where a tile streams them. So the sums of such rows are only divided where weights leave that cache.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ...tir import dtypes
from ...tir.expr import Binary, Const, Expr, Load, Var, const, substitute
from ...tir.nodes import Axis
from ...tir.simplify import Simplifier
from ...tir.stmt import PARALLEL, SERIAL, VECTORIZED, Allocate, Buffer, For, Scope, Stmt, Store, seq
from ...tir.vector_target import VectorTarget
from ..affine import coefficients, depends, loads, simplifier
from ..block import Ahead, Block
from ..forms import Loop, Reduction, substituted
from ..nest import lower_all
from ..primitives.base import step
from ..tile_choice import TileChoice, choose_register_tile
from .base import Candidate, Stage, Strategy, strategy
from .register_tile import tile_reduction

_GAIN = 0.9
"""Time of a long sum in blocks, of that without: the least that was seen."""

_KEPT = 0.75
"""Share of the second cache that weights can have, beside the rows that they are multiplied with."""


@dataclass(frozen=True)
class SumBlocks:
    """How a sum is divided.

    Attributes:
        vector, columns: the axis of results along vectors, and how many of them a panel has.
        band, rows: the outermost other axis of results, and how many of its steps are made together.
        summed, steps: the outermost axis of the sum, and how many of its steps make a block.
    """

    vector: int
    columns: int
    band: int
    rows: int
    summed: int
    steps: int


@strategy("blocked_sum")
class BlockedSum(Strategy):
    """A tile of results in registers, for some steps of a long sum at a time."""

    def choose(self, stage: Stage) -> Candidate | None:
        r, p = stage.reduction, stage.tile
        if r is None or p is None or stage.serial:
            return None
        found = divide_sum(r, p, stage.target)
        if found is None:
            return None
        (v, n), cost = r.inner[found.summed], stage.target.latency / (p.tile.points * p.lanes)
        reason = f"{p.reason}, {found.steps} of {n} steps of {v.name} at a time"
        label = f"axis {p.vector}, {found.columns} columns, {found.rows} rows, {found.steps} of {n} steps"
        return Candidate(_GAIN * cost, reason, found, label)

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        assert stage.reduction is not None
        with step(f"sums in blocks: {candidate.reason}"):
            return _Nest(stage.reduction, candidate.plan, stage.target).build()


def divide_sum(r: Reduction, p: TileChoice, target: VectorTarget) -> SumBlocks | None:
    """How to divide a sum whose weights for one tile are more than a cache keeps; None where that is of no use."""
    v, extent = r.loops[p.vector]
    columns = p.tile.vectors * p.lanes
    others = [n for n, (_, m) in enumerate(r.loops) if n != p.vector and m > 1]
    if not _is_product(r, v) or not others or extent % columns or p.lanes != target.lanes_of(r.acc.dtype):
        return None
    size = dtypes.itemsize(r.acc.dtype) * columns
    work = math.prod(m for _, m in r.inner)
    summed = next((n for n, (_, m) in enumerate(r.inner) if m > 1), None)
    if summed is None:
        return None
    whole = _has_whole_rows(r, r.loops[p.row if p.row is not None else others[0]][0], r.inner[summed][0])
    if work * size <= (_KEPT * target.far_bytes if whole else 2 * target.near_bytes):
        return None
    each = work // r.inner[summed][1] * size
    steps = _largest_divisor(r.inner[summed][1], max(1, target.near_bytes // 2 // each), 1)
    along = math.prod(r.loops[n][1] for n in others[1:])
    multiple = p.tile.rows if others[0] == p.row else 1
    rows = _largest_divisor(r.loops[others[0]][1], target.stack_bytes // size // along, multiple)
    if not rows or each > 2 * target.near_bytes or steps == r.inner[summed][1] or along * rows < 2 * p.tile.rows:
        return None
    return SumBlocks(p.vector, columns, others[0], rows, summed, steps)


def _has_whole_rows(r: Reduction, row: Var, summed: Var) -> bool:
    """True if an operand has all that is summed of one row before the next row, as row-major matrices do, and images in blocks of
    channels do not."""
    simplify = simplifier(r.loops, r.inner)
    places = [e.source.offset(e.indices) for e in loads(r.update) if e.source is not r.acc]
    steps = [coefficients(simplify, x, (row, summed)) for x in places]
    return any(a and b and a > b for a, b in steps)


def _largest_divisor(n: int, most: int, multiple: int) -> int:
    """The largest divisor of a number up to another one, a multiple if there is one of half the size at least; 0 for none."""
    found = [d for d in range(1, min(n, most) + 1) if n % d == 0]
    whole = [d for d in found if d % multiple == 0 and 2 * d >= found[-1]]
    return max(whole or found or [0])


def _is_product(r: Reduction, v: Var) -> bool:
    """True for a sum of products of two operands of which one moves with `v`, and nothing is left out."""
    u = r.update
    if r.guards or not isinstance(r.init, Const) or not isinstance(u, Binary) or u.op != "+":
        return False
    if not isinstance(u.a, Load) or u.a.source is not r.acc or not dtypes.is_float(r.acc.dtype):
        return False
    read = loads(u.b)
    return (
        isinstance(u.b, Binary)
        and u.b.op == "*"
        and len(read) == 2
        and {u.b.a, u.b.b} == set(read)
        and sum(any(depends(i, v) for i in e.indices) for e in read) == 1
        and dtypes.bits(r.acc.dtype) >= 32
    )


@dataclass
class _Nest:
    form: Reduction
    plan: SumBlocks
    target: VectorTarget

    def build(self) -> Stmt:
        """The whole nest."""
        r, s = self.form, self.plan
        (v, columns), (x, rows) = r.loops[s.vector], r.loops[s.band]
        k, steps = r.inner[s.summed]
        self.panels, self.bands, self.blocks = columns // s.columns, rows // s.rows, steps // s.steps
        # Their ranges must be known where they are no loops of the form.
        self.panel: Expr = Axis("panel", self.panels) if self.panels > 1 else const(0)
        self.band: Expr = Axis("band", self.bands) if self.bands > 1 else const(0)
        self.block = Axis("block", self.blocks)
        self.column, self.row, self.step = Var(v.name), Var(x.name), Var(k.name)
        self.loops: list[Loop] = [
            (self.column, s.columns) if n == s.vector else (self.row, s.rows) if n == s.band else loop
            for n, loop in enumerate(r.loops)
        ]
        inside = [n for n, (_, m) in enumerate(self.loops) if m > 1 or n == s.vector]
        inside.sort(key=lambda n: n == s.vector)
        self.part = Buffer("part", tuple(self.loops[n][1] for n in inside), r.acc.dtype, Scope.LOCAL)
        self.place = tuple(self.loops[n][0] for n in inside)
        last = const(self.blocks - 1)
        body = seq([self._cleared(), self._sum(self.block, True), self._sum(last, False)])
        body = Allocate(self.part, body)
        kind = PARALLEL if r.work >= self.target.parallel_updates else SERIAL
        for loop, n in ((self.band, self.bands), (self.panel, self.panels)):
            body = For(loop, n, body, kind) if isinstance(loop, Axis) else body
        return body

    def _cleared(self) -> Stmt:
        """The array set to what sums begin with."""
        lanes = self.target.lanes_of(self.form.acc.dtype)
        *rows, (_, columns) = [(v, n) for v, n in self.loops if any(v is x for x in self.place[:-1])] + [
            (self.column, self.plan.columns)
        ]
        group, lane = Var("group"), Var("v")
        made: Stmt = Store(self.part, (*self.place[:-1], group * lanes + lane), self.form.init)
        made = For(group, columns // lanes, For(lane, lanes, made, VECTORIZED))
        for v, n in reversed(rows):
            made = For(v, n, made)
        return made

    def _values(self, block: Expr) -> dict[Expr, Expr]:
        """What the axes of the sum as it was are, in those of a block."""
        r, s = self.form, self.plan
        return {
            r.loops[s.vector][0]: self.panel * s.columns + self.column,
            r.loops[s.band][0]: self.band * s.rows + self.row,
            r.inner[s.summed][0]: block * s.steps + self.step,
        }

    def _sum(self, block: Expr, more: bool) -> Stmt:
        """The sums over a block added to those before; `more`: in all blocks but the last, to the array."""
        r, s = self.form, self.plan
        inner = tuple((self.step, s.steps) if n == s.summed else loop for n, loop in enumerate(r.inner))
        loops = tuple([(self.block, self.blocks - 1), *self.loops] if more else self.loops)
        made = substituted(r, self._values(block), loops, inner)
        before = Load(self.part, self.place)
        made = replace(made, init=before)
        if more:
            made = replace(made, stores=(Store(self.part, self.place, made.acc.element()),))
        choice = choose_register_tile(made, self.target)
        assert choice is not None, "the whole sum has a tile along that axis"
        parts = tile_reduction(Block.of(made), choice, self.target, serial=True)
        parts = [replace(b, prefetches=()) for b in parts]
        most = max(range(len(parts)), key=lambda n: math.prod(m for _, m in parts[n].outside))
        parts[most] = self._ahead(parts[most], more)
        return lower_all(parts, replace(self.target, joined_parts=1))

    def _ahead(self, b: Block[Reduction], more: bool) -> Block[Reduction]:
        """The next block's weights asked for: those of the panel, or in the last one the first of the next panel."""
        here = self._values(self.block if more else const(0))
        simplify = Simplifier({v: (0, n - 1) for v, n in (*b.form.loops, *b.form.inner)})
        axis = self.form.loops[self.plan.vector][0]
        (found,) = (
            e
            for e in loads(self.form.update)
            if e.source is not self.form.acc and any(depends(i, axis) for i in e.indices)
        )
        operand = Load(found.source, tuple(simplify(substitute(i, here)) for i in found.indices))
        loop: tuple[Var, int] = (self.block, self.blocks)
        if not more:
            if not isinstance(self.panel, Axis):
                return b
            loop = (self.panel, self.panels)
        rows = [x for x in b.outside if x[0] is not self.block and not _moves(b, operand, x[0])]
        return replace(b, prefetches=(Ahead(operand, loop, max(rows, key=lambda x: x[1], default=None)),))


def _moves(b: Block[Reduction], e: Load, loop: Var) -> bool:
    view = b.seen()
    return any(depends(view(i), loop) for i in e.indices)
