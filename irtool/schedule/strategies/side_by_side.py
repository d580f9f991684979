"""Nests whose steps are independent along the innermost loop of results: a vector of them, step by step.

    for i: acc = 0; for k: acc += x[k, i]; out[k, i] = acc

    ⇒   for i_o: acc[lanes] = 0; for k: acc[:] += x[k, i_o*lanes + :]; out[k, i_o*lanes + :] = acc[:]

Sums that continue the one before, along another axis than the innermost. Scalars that a step keeps become vectors of registers, and
each store a loop over lanes; loops and conditions inside must be the same for all lanes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...tir.dtypes import itemsize
from ...tir.expr import Const, Expr, Load, Var, const, post_order, rewrite, substitute
from ...tir.forms import Steps
from ...tir.independence import is_independent
from ...tir.simplify import Simplifier
from ...tir.stmt import (
    VECTORIZED,
    Allocate,
    Buffer,
    For,
    If,
    Let,
    Scope,
    Seq,
    Stmt,
    Store,
    expressions,
    pre_order,
    rewrite_stmt,
    seq,
    substitute_stmt,
)
from ..core.affine import loads, stride
from ..cost.machine import TOGETHER
from .base import Candidate, Stage, Strategy, strategy


@strategy("side_by_side")
class SideBySide(Strategy):
    """Vectors along the innermost loop of results of a nest of another form."""

    def choose(self, stage: Stage) -> Candidate | None:
        if not isinstance(stage.form, Steps):
            return None
        loops, body = _loops(stage.form.body)
        lanes = stage.target.lanes(4)
        if not loops or lanes < 2 or loops[-1].steps < lanes or not _has_lanes(loops, body):
            return None
        return Candidate(stage.target.latency, f"vectors along {loops[-1].var.name}", lanes)

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        assert isinstance(stage.form, Steps)
        lanes: int = candidate.plan
        loops, body = _loops(stage.form.body)
        *outer, last = loops
        nests: list[Stmt] = []
        begin = 0
        for vectors, width in ((TOGETHER, lanes), (1, lanes), (1, 1)):
            count = (last.steps - begin) // (vectors * width)
            block, lane = Var(last.var.name), Var(f"{last.var.name}_v")
            if count:
                start = block * (vectors * width) + begin
                step = substitute_stmt(body, {last.var: start + lane if width > 1 else start})
                nests.append(For(block, count, _side_by_side(step, lane, width, vectors) if width > 1 else step))
                begin += count * vectors * width
        nest = seq(nests)
        for loop in reversed(outer):
            nest = For(loop.var, loop.extent, nest, loop.kind)
        return nest


def _loops(body: Stmt) -> tuple[list[For], Stmt]:
    """The loops around everything else, outermost first, and the statement inside of them."""
    loops: list[For] = []
    while isinstance(body, For) and isinstance(body.extent, Const):
        loops.append(body)
        body = body.body
    return loops, body


def _has_lanes(loops: Sequence[For], body: Stmt) -> bool:
    """True if the steps of the last loop can be made side by side: they are independent, their scalars and elements are as wide as lanes,
    elements lie side by side, and what is decided inside is the same for all."""
    last = loops[-1]
    inside = list(pre_order(body))
    if not all(isinstance(s, Seq | Allocate | Let | For | If | Store) for s in inside):
        return False
    own = {s.buffer for s in inside if isinstance(s, Allocate)}
    differing: set[object] = {last.var, *own, *(s.var for s in inside if isinstance(s, Let))}
    decided = [s.extent if isinstance(s, For) else s.cond for s in inside if isinstance(s, For | If)]
    if any((e.source if isinstance(e, Load) else e) in differing for e in post_order(*decided)):
        return False
    named = [s.value.dtype for s in inside if isinstance(s, Let)]
    if any(b.ndim or b.scope != Scope.LOCAL for b in own) or any(
        itemsize(d) != 4 for d in (*named, *(b.dtype for b in own))
    ):
        return False
    ranges = {
        x.var: (0, x.steps - 1)
        for x in (*loops, *(s for s in inside if isinstance(s, For) and isinstance(s.extent, Const)))
    }
    simplify = Simplifier(ranges)

    def steps(accesses: Iterable[tuple[Buffer, Sequence[Expr]]]) -> set[int | None]:
        return {
            stride(simplify, b.offset(i), last.var) if itemsize(b.dtype) == 4 else None
            for b, i in accesses
            if b not in own
        }

    stored = steps((s.buffer, s.indices) for s in inside if isinstance(s, Store))
    read = steps((e.source, e.indices) for s in inside for e in loads(*expressions(s)))
    return stored == {1} and read <= {0, 1} and is_independent(last, ranges)


def _side_by_side(body: Stmt, lane: Var, lanes: int, vectors: int) -> Stmt:
    """The body for all lanes of some vectors: registers in place of scalars and of named values, and loops over lanes around each store. `lane`
    counts all of these lanes."""
    inside = list(pre_order(body))
    scalars: dict[object, tuple[str, str]] = {
        s.buffer: (s.buffer.name, s.buffer.dtype) for s in inside if isinstance(s, Allocate)
    }
    scalars.update((s.var, (s.var.name, s.value.dtype)) for s in inside if isinstance(s, Let))
    registers = {key: Buffer(name, (vectors, lanes), dtype, Scope.REGISTER) for key, (name, dtype) in scalars.items()}

    def for_vector(n: int, buffer: Buffer, indices: Sequence[Expr] | None, of: Expr) -> Stmt:
        own = Var(lane.name)
        here: dict[Expr, Expr] = {lane: own + n * lanes}
        here.update((key, Load(b, (const(n), own))) for key, b in registers.items() if isinstance(key, Var))

        def value(e: Expr) -> Expr:
            register = registers.get(e.source) if isinstance(e, Load) else None
            return e if register is None else Load(register, (const(n), own))

        own_indices = (const(n), own) if indices is None else tuple(substitute(x, here) for x in indices)
        return For(own, lanes, Store(buffer, own_indices, rewrite(of, value, dict(here))), VECTORIZED)

    def for_all(buffer: Buffer, indices: Sequence[Expr] | None, of: Expr) -> Stmt:
        """Stores of all vectors; `indices` are None for a register."""
        return seq([for_vector(n, buffer, indices, of) for n in range(vectors)])

    def change(s: Stmt) -> Stmt:
        if isinstance(s, Allocate):
            return Allocate(registers[s.buffer], s.body)
        if isinstance(s, Let):
            return Allocate(registers[s.var], seq([for_all(registers[s.var], None, s.value), s.body]))
        if isinstance(s, Store) and s.buffer in registers:
            return for_all(registers[s.buffer], None, s.value)
        if isinstance(s, Store):
            return for_all(s.buffer, s.indices, s.value)
        return s

    return rewrite_stmt(body, change)
