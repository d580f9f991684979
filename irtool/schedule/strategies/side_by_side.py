"""Nests whose steps are independent along the innermost loop of results, vectorized along that loop.

    for i: acc = 0; for k: acc += x[k, i]; out[k, i] = acc

    ⇒   for i_o: acc[lanes] = 0; for k: acc[:] += x[k, i_o*lanes + :]; out[k, i_o*lanes + :] = acc[:]

Running sums along another axis than the innermost are an example. Scalars of a step become vectors in registers, and each store a
loop over lanes; loops and conditions inside must be the same for all lanes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...tir.dtypes import itemsize
from ...tir.expr import Expr, Load, Var, const, post_order, rewrite, substitute
from ...tir.forms import Loop, Steps, loops_around, peel_loops
from ...tir.independence import is_independent
from ...tir.sharing import loop_bounds
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
        lanes = stage.target.lanes(4)
        if not isinstance(stage.form, Steps) or lanes < 2:
            return None
        loops, body = peel_loops(stage.form.body)
        if not loops or loops[-1][1] < lanes or not _has_lanes(loops, body):
            return None
        return Candidate(stage.target.latency, f"vectors along {loops[-1][0].name}", lanes)

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        assert isinstance(stage.form, Steps)
        lanes: int = candidate.plan
        (*outer, (v, extent)), body = peel_loops(stage.form.body)
        nests: list[Stmt] = []
        begin = 0
        for vectors, width in ((TOGETHER, lanes), (1, lanes), (1, 1)):
            count = (extent - begin) // (vectors * width)
            block, lane = Var(v.name), Var(f"{v.name}_v")
            if count:
                start = block * (vectors * width) + begin
                step = substitute_stmt(body, {v: start + lane if width > 1 else start})
                nests.append(For(block, count, _side_by_side(step, lane, width, vectors) if width > 1 else step))
                begin += count * vectors * width
        return loops_around(outer, seq(nests))


def _has_lanes(loops: Sequence[Loop], body: Stmt) -> bool:
    """True if the steps of the last loop can be the lanes of vectors.

    They must be independent, with scalars and elements as wide as lanes, contiguous elements, and the same conditions for all.
    """
    v, extent = loops[-1]
    inside = list(pre_order(body))
    if not all(isinstance(s, Seq | Allocate | Let | For | If | Store) for s in inside):
        return False
    own = {s.buffer for s in inside if isinstance(s, Allocate)}
    names = {s.var: s.value.dtype for s in inside if isinstance(s, Let)}
    decided = [s.extent if isinstance(s, For) else s.cond for s in inside if isinstance(s, For | If)]
    if any((e.source if isinstance(e, Load) else e) in {v, *own, *names} for e in post_order(*decided)):
        return False
    if any(b.ndim or b.scope != Scope.LOCAL for b in own):
        return False
    if any(itemsize(d) != 4 for d in (*names.values(), *(b.dtype for b in own))):
        return False
    bounds = loop_bounds(loops_around(loops, body))
    simplify = Simplifier(bounds)

    def steps(accesses: Iterable[tuple[Buffer, Sequence[Expr]]]) -> set[int | None]:
        return {
            stride(simplify, b.offset(i), v) if itemsize(b.dtype) == 4 else None for b, i in accesses if b not in own
        }

    stored = steps((s.buffer, s.indices) for s in inside if isinstance(s, Store))
    read = steps((e.source, e.indices) for s in inside for e in loads(*expressions(s)))
    return stored == {1} and read <= {0, 1} and is_independent(For(v, extent, body), bounds)


def _side_by_side(body: Stmt, lane: Var, lanes: int, vectors: int) -> Stmt:
    """The body for all lanes of some vectors: registers in place of scalars and of `Let` variables, and loops over lanes around
    each store.

    `lane` counts the lanes of all vectors.
    """
    registers: dict[object, Buffer] = {}
    for s in pre_order(body):
        if isinstance(s, Allocate):
            registers[s.buffer] = s.buffer.replace(shape=(vectors, lanes), scope=Scope.REGISTER)
        elif isinstance(s, Let):
            registers[s.var] = Buffer(s.var.name, (vectors, lanes), s.value.dtype, Scope.REGISTER)

    def for_vector(n: int, target: Buffer | Var, indices: Sequence[Expr], of: Expr) -> Stmt:
        own = Var(lane.name)
        place = (const(n), own)
        named: dict[Expr, Expr] = {key: Load(b, place) for key, b in registers.items() if isinstance(key, Var)}
        named[lane] = own + n * lanes

        def value(e: Expr) -> Expr:
            return Load(registers[e.source], place) if isinstance(e, Load) and e.source in registers else e

        if target in registers:
            store = Store(registers[target], place, rewrite(of, value, named))
        else:
            assert isinstance(target, Buffer)
            store = Store(target, tuple(substitute(x, named) for x in indices), rewrite(of, value, named))
        return For(own, lanes, store, VECTORIZED)

    def for_all(target: Buffer | Var, indices: Sequence[Expr], of: Expr) -> Stmt:
        return seq([for_vector(n, target, indices, of) for n in range(vectors)])

    def change(s: Stmt) -> Stmt:
        if isinstance(s, Allocate):
            return Allocate(registers[s.buffer], s.body)
        if isinstance(s, Let):
            return Allocate(registers[s.var], seq([for_all(s.var, (), s.value), s.body]))
        return for_all(s.buffer, s.indices, s.value) if isinstance(s, Store) else s

    return rewrite_stmt(body, change)
