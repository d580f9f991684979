"""Reductions of several accumulators whose steps have an order, in vectors: arg-max and arg-min.

Along contiguous results:

    for c: i = 0, m = lowest; for k: (i, m) = x[k, c] > m ? (k, x[k, c]) : (i, m)

    ⇒   for c_o: i[lanes], m[lanes]; for k: … x[k, c_o*lanes + :] …

Contiguous long rows: block by block (see `blocked_argmax`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ....tir import dtypes
from ....tir.expr import Expr, Load, Var, post_order, rewrite
from ....tir.forms import InOrder, Loop, TupleReduction, loops_around, nest_of
from ....tir.simplify import Simplifier
from ....tir.stmt import (
    PARALLEL,
    SERIAL,
    UNROLLED,
    VECTORIZED,
    Allocate,
    Buffer,
    For,
    Scope,
    Stmt,
    Store,
    seq,
    substitute_stmt,
)
from ...core.affine import loads, simplifier, stride
from ...core.strip_mine import vector_segments
from ...cost.machine import TOGETHER
from ..base import Candidate, Stage, Strategy, strategy
from .blocked_argmax import Blocks, choose_blocks, search_blocks
from .narrow_indices import narrow_indices


@dataclass(frozen=True)
class Lanes:
    """The vectorized axis: the results of a loop, or, in `blocks` of a long row, the steps of the innermost one, with `count`
    lanes.

    `form`: the reduction, with accumulators as narrow as possible.
    """

    loop: Loop
    count: int
    form: TupleReduction
    blocks: Blocks | None = None


@strategy("tuple_reduction")
class VectorTuples(Strategy):
    """Vectors of each accumulator along results, or blocks of steps."""

    def choose(self, stage: Stage) -> Candidate | None:
        form = stage.form
        if not isinstance(form, TupleReduction) or form.in_order is None or form.condition is not None:
            return None
        lanes = _choose_lanes(form, form.in_order, stage)
        if lanes is None:
            return Candidate(stage.target.latency, "steps in their order")
        how = "blocks of" if lanes.blocks is not None else "vectors along results"
        return Candidate(1 / lanes.count, f"{how} {lanes.loop[0].name}", lanes)

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        form, lanes = stage.form, candidate.plan
        assert isinstance(form, TupleReduction) and form.in_order is not None
        shared = form.work >= stage.target.parallel_updates and not stage.serial
        if lanes is None:
            body = nest_of(replace(form, inits=form.in_order.inits, updates=form.in_order.updates))
            return _shared(body) if shared and form.loops else body
        if lanes.blocks is not None:
            body = loops_around(form.loops, search_blocks(form, lanes.blocks))
            return _shared(body) if shared and form.loops else body
        assert lanes.form.in_order is not None
        return _along_results(lanes.form, lanes.form.in_order, lanes, shared)


def _choose_lanes(form: TupleReduction, order: InOrder, stage: Stage) -> Lanes | None:
    if not stage.target.vector_bytes or _in_turn(form, order) is None or any(b.dtype == "bool" for b in form.accs):
        return None
    simplify = simplifier(form.loops, form.inner)
    values = [*order.updates, *(s.value for s in form.stores)]
    for v, n in form.loops:
        if n >= 4 and all(stride(simplify, s.buffer.offset(s.indices), v) == 1 for s in form.stores):
            if _is_even(simplify, values, v):
                narrow = narrow_indices(form)
                count = min(stage.target.lanes(_width(b)) for b in narrow.accs)
                return Lanes((v, n), min(count, 1 << (n.bit_length() - 1)), narrow) if count >= 4 else None
    if not form.inner:
        return None
    v, n = form.inner[-1]
    wide = stage.target.lanes(_width(form.accs[-1]))
    blocks = choose_blocks(form, wide) if wide >= 4 and _is_even(simplify, order.updates, v) else None
    return Lanes((v, n), blocks.lanes, form, blocks) if blocks is not None else None


def _width(acc: Buffer) -> int:
    """Bytes of an accumulator in a register."""
    return dtypes.itemsize(dtypes.accumulator_dtype(acc.dtype) if dtypes.is_float(acc.dtype) else acc.dtype)


def _is_even(simplify: Simplifier, values: Sequence[Expr], v: Var) -> bool:
    """True if all operands are contiguous along a loop, or do not depend on it."""
    strides = [stride(simplify, e.source.offset(e.indices), v) for e in loads(*values)]
    return 1 in strides and all(s in (0, 1) for s in strides)


def _in_turn(form: TupleReduction, order: InOrder) -> list[int] | None:
    """The accumulators in an order of updates, each before those that its update reads; None if two of them need each other's old
    values."""
    reads = [
        {form.accs.index(e.source) for e in post_order(u) if isinstance(e, Load) and e.source in form.accs} - {n}
        for n, u in enumerate(order.updates)
    ]
    ready_order: list[int] = []
    left = set(range(len(reads)))
    while left:
        ready = next((n for n in sorted(left) if not any(n in reads[m] for m in left if m != n)), None)
        if ready is None:
            return None
        ready_order.append(ready)
        left.remove(ready)
    return ready_order


def _shared(body: Stmt) -> Stmt:
    assert isinstance(body, For)
    return For(body.var, body.extent, body.body, PARALLEL)


class _Registers:
    """The accumulators as rows of vectors."""

    def __init__(self, form: TupleReduction, rows: int, lanes: int) -> None:
        self.form = form
        self.lanes = lanes
        self.buffers = [Buffer(f"{b.name}_v", (rows, lanes), b.dtype, Scope.REGISTER) for b in form.accs]

    def at(self, e: Expr, row: Expr, lane: Expr, values: Mapping[Expr, Expr], simplify: Simplifier) -> Expr:
        """An expression of the form, with an element of a row in place of each accumulator."""

        def change(x: Expr) -> Expr:
            if isinstance(x, Load) and x.source in self.form.accs:
                return Load(self.buffers[self.form.accs.index(x.source)], (row, lane))
            return x

        return simplify(rewrite(e, change, dict(values)))

    def around(self, body: Stmt) -> Stmt:
        """The body, inside of the allocations of the registers."""
        for b in reversed(self.buffers):
            body = Allocate(b, body)
        return body

    def row(self, stores: Sequence[Store], row: Var | None, rows: int, lane: Var) -> Stmt:
        """Stores for every lane of some rows."""
        body: Stmt = For(lane, self.lanes, seq(stores), VECTORIZED)
        return For(row, rows, body, UNROLLED) if row is not None else body


def _along_results(form: TupleReduction, order: InOrder, lanes: Lanes, shared: bool) -> Stmt:
    """Several vectors of results at a time; then single ones, narrower ones, and single results."""
    v, extent = lanes.loop
    others = [x for x in form.loops if x[0] is not v]
    parts: list[Stmt] = []
    for first, count, width in vector_segments(extent, lanes.count):
        done = first
        for rows in (TOGETHER, 1) if width > 1 else (1,):
            left = count - (done - first) // width
            times = left // rows
            if times:
                parts.append(_columns(form, order, v, (done, times, rows, width)))
                done += times * rows * width
    body = seq(parts)
    for n in range(len(others) - 1, -1, -1):
        x, m = others[n]
        body = For(x, m, body, PARALLEL if shared and n == 0 else SERIAL)
    if shared and not others:
        body = seq([_shared(p) if isinstance(p, For) and p.kind == SERIAL else p for p in parts])
    return body


def _columns(form: TupleReduction, order: InOrder, v: Var, part: tuple[int, int, int, int]) -> Stmt:
    """The results of a part `(first, times, rows, width)`: `times` tiles of `rows` vectors of `width` results, from result
    `first` on."""
    first, times, rows, width = part
    outer, row, lane = (Var(f"{v.name}_{s}", v.dtype) for s in "otv")
    loops = [(outer, times), (row, rows), (lane, width), *form.loops, *form.inner]
    simplify = simplifier(loops)
    if width == 1:
        body = nest_of(replace(form, inits=order.inits, updates=order.updates, loops=()))
        return For(outer, times, substitute_stmt(body, {v: outer + first}))
    place = (outer * rows + row) * width + lane + first
    registers = _Registers(form, rows, width)

    def row_of(stores: Sequence[Store]) -> Stmt:
        return registers.row(stores, row, rows, lane)

    def value(e: Expr) -> Expr:
        return registers.at(e, row, lane, {v: place}, simplify)

    turn = _in_turn(form, order)
    assert turn is not None
    init = row_of([Store(b, (row, lane), e) for b, e in zip(registers.buffers, order.inits)])
    update = row_of([Store(registers.buffers[n], (row, lane), value(order.updates[n])) for n in turn])
    stores = row_of([s.rewritten(value) for s in form.stores])
    body = registers.around(seq([init, loops_around(form.inner, update), stores]))
    return For(outer, times, body)
