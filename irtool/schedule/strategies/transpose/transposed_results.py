"""Results in vectors along another axis than the operand's contiguous one, with uneven reads: an enlarged image in blocks of channels.

    for y, c, x: out[c, y, x] = f(in[y, x / 2, c])

    ⇒   for y: for x, c: made[y, x, c] = f(in[y, x / 2, c])       (vectors along c)
    ⇒   for y: for c, x: out[c, y, x] = made[y, x, c]             (in squares, see `tiled_transpose`)

The loops over rows become one (see `fuse_row_loops`), so that what is made stays in the L1 cache.
"""

from __future__ import annotations

from dataclasses import dataclass

from ....tir.expr import Expr, Load, Var, substitute
from ....tir.stmt import Allocate, Buffer, Scope, Stmt, Store, seq
from ...core.affine import loads, simplifier, stride
from ...core.block import Block
from ...core.forms import Loop, Map
from ...cost.machine import FEWEST_LANES
from ...cost.map_cycles import square_cycles
from ...primitives import fuse, reorder, untraced
from ..base import Candidate, Stage, Strategy, strategy
from ..elementwise.strategy import vector_lanes
from ..staged import by_strategy


@dataclass(frozen=True)
class TurnedResults:
    """The loop along which results are contiguous, and the one along which what they are made of is."""

    written: Loop
    read: Loop


@strategy("turned_results")
class TurnedResultsStrategy(Strategy):
    """Vectors along the axis that is read, turned before they are stored."""

    def choose(self, stage: Stage) -> Candidate | None:
        if stage.map is None or vector_lanes(stage) < 2:
            return None
        axes = _choose_axes(stage.map)
        if axes is None:
            return None
        lanes = vector_lanes(stage)
        cycles = 2 / lanes + square_cycles(lanes, stage.target)
        return Candidate(cycles, f"vectors along {axes.read[0].name}, turned to {axes.written[0].name}", axes)

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        axes: TurnedResults = candidate.plan
        with untraced():
            assert stage.map is not None
            transposed, maps = _divided(stage.map, axes)
            nests = [by_strategy(stage.inner(m, serial=stage.serial)).apply() for m in maps]
        return Allocate(transposed, seq(nests))


def _choose_axes(m: Map) -> TurnedResults | None:
    if len(m.stores) != 1 or len(m.loops) < 2:
        return None
    (store,), simplify = m.stores, simplifier(m.loops)
    positions = [e.source.offset(e.indices) for e in loads(store.value)]
    written = store.buffer.offset(store.indices)
    for v, n in m.loops:
        if n < FEWEST_LANES or stride(simplify, written, v) != 1:
            continue
        if all(stride(simplify, p, v) is not None for p in positions):
            return None
        for w, k in m.loops:
            strides = [stride(simplify, p, w) for p in positions]
            if w is not v and k >= FEWEST_LANES and 1 in strides and all(s in (0, 1) for s in strides):
                return TurnedResults((v, n), (w, k))
    return None


def _divided(m: Map, axes: TurnedResults) -> tuple[Buffer, tuple[Map, Map]]:
    """What is between, what makes it, and what turns it: both over the same rows."""
    (v, n), (w, k) = axes.written, axes.read
    rows = [x for x, _ in m.loops if x is not v and x is not w]
    block = reorder(Block.of(m), [*rows, v, w])
    while len(block.loops) > 3:
        block = fuse(block, block.loops[0][0], block.loops[1][0])
    m = block.result()
    (store,) = m.stores
    rest = [x for x in m.loops if x[0] is not v and x[0] is not w]
    transposed = Buffer("made", [*(c for _, c in rest), n, k], store.buffer.dtype, Scope.GLOBAL)
    first = Map((*rest, (v, n), (w, k)), (Store(transposed, [*(x for x, _ in rest), v, w], store.value),))
    own = [(Var(x.name, x.dtype), c) for x, c in (*rest, (w, k), (v, n))]
    values: dict[Expr, Expr] = {x: y for (x, _), (y, _) in zip((*rest, (w, k), (v, n)), own, strict=True)}
    simplify = simplifier(own)
    indices = [simplify(substitute(i, values)) for i in store.indices]
    place = (*(y for y, _ in own[:-2]), own[-1][0], own[-2][0])
    return transposed, (first, Map(tuple(own), (Store(store.buffer, indices, Load(transposed, place)),)))
