"""Nests with vectors in place of loops over lanes, in text, before any backend prints them."""

from __future__ import annotations

import pytest

from irtool.backends.formulas.vector_math import function_for
from irtool.schedule.graph.threads import shared_loops
from irtool.selection.nests import lower_parts
from irtool.selection.streams import Fence, fence_streams
from irtool.selection.text import body_text
from irtool.selection.vectors import ir
from irtool.selection.vectors.nest import NestLowering
from irtool.selection.vectors.types import VectorType
from irtool.tir.expr import Call, Var, add, const, less, mul, select
from irtool.tir.simplify import Simplifier
from irtool.tir.stmt import PARALLEL, VECTORIZED, Allocate, Buffer, For, Lowered, Scope, Seq, Stmt, Store, pre_order

X, W, Y = Buffer("x", (64,)), Buffer("w", (64,)), Buffer("y", (64,))
ACC = Buffer("acc", (2, 8), "float32", Scope.REGISTER)


def lower(body: Stmt) -> Stmt:
    return NestLowering(Simplifier({}), lambda call: function_for(call, False), False).lower(body)


def update(row: int) -> For:
    """acc[row, l] += x[8 row] * w[l]"""
    lane = Var("l")
    return For(lane, 8, Store(ACC, (const(row), lane), add(ACC[row, lane], mul(X[8 * row], W[lane]))), VECTORIZED)


def parts(s: Stmt) -> list[Lowered]:
    return [x for x in pre_order(s) if isinstance(x, Lowered)]


def test_loops_one_behind_the_other_read_once() -> None:
    (part,) = parts(lower(Allocate(ACC, Seq([update(0), update(1)]))))
    assert isinstance(part.body, Seq) and len(part.body.stmts) == 2
    assert (
        body_text(part.code)
        == """
%0: float32x8 = acc[0]
%1: float32x8 = splat(x[0])
let %2: float32x8 = load(w[0])
%3: float32x8 = %1 * %2
%4: float32x8 = %0 + %3
acc[0] = %4
%5: float32x8 = acc[1]
%6: float32x8 = splat(x[8])
%7: float32x8 = %6 * %2
%8: float32x8 = %5 + %7
acc[1] = %8
""".strip()
    )


def test_loops_that_write_memory_read_again() -> None:
    """A statement may read the elements that the one before it writes."""
    lanes = Var("l"), Var("m")
    loops = [For(v, 8, Store(Y, (v,), add(Y[v], W[v])), VECTORIZED) for v in lanes]
    assert len(parts(lower(Seq(loops)))) == 2


def test_a_shared_vector_is_used_inside_of_a_condition() -> None:
    def chosen(row: int) -> For:
        lane = Var("l")
        w = W[lane]
        value = add(w, select(less(Var("n"), 3), mul(w, w), w))
        return For(lane, 8, Store(ACC, (const(row), lane), value), VECTORIZED)

    (part,) = parts(lower(Seq([chosen(0), chosen(1)])))
    assert isinstance(part.code, ir.Body)
    loads = [s for s in part.code.steps if isinstance(s, ir.LoadVector)]
    picks = [s for s in part.code.steps if isinstance(s, ir.Pick)]
    assert len(loads) == 1 and len(picks) == 2
    assert all(pick.other.result is loads[0] for pick in picks)


def test_a_loop_without_a_vector_form_stays() -> None:
    lane = Var("l")
    loop = For(lane, 8, Store(ACC, (const(0), lane), Call("lgamma", (X[lane],), "float32")), VECTORIZED)
    lowered = lower(Seq([loop, update(1)]))
    assert isinstance(lowered, Seq) and lowered.stmts[0] is loop
    assert [p.body for p in parts(lowered)] == [lowered.stmts[1].body]  # type: ignore[attr-defined]


def test_a_part_that_is_lowered_is_left_alone() -> None:
    seen: list[Stmt] = []

    def rule(s: Stmt) -> Stmt:
        seen.append(s)
        return Lowered(s, "code") if isinstance(s, For) else s

    loop = update(0)
    lowered = lower_parts(Allocate(ACC, loop), rule)
    assert [type(s) for s in seen] == [Allocate, For]
    assert isinstance(lowered, Allocate) and isinstance(lowered.body, Lowered) and lowered.body.body is loop


@pytest.mark.parametrize("streams", [True, False])
def test_a_step_of_the_outermost_loop_ends_with_a_fence(streams: bool) -> None:
    """Of loops that threads share as one, each step of the innermost."""
    square = ir.CopySquare(VectorType("float32", 16), 16, Y, const(0), 16, X, const(0), 16, streams)
    copies = For(Var("k"), 4, Lowered(Seq(()), square))
    shared = For(Var("y"), 2, For(Var("x"), 3, copies, PARALLEL), PARALLEL)
    nest = Seq([shared, For(Var("z"), 2, update(0))])
    fenced = fence_streams(nest)
    if not streams:
        assert fenced is nest
        return
    assert isinstance(fenced, Seq) and fenced.stmts[1] is nest.stmts[1]
    inner = shared_loops(fenced.stmts[0])[-1]  # type: ignore[arg-type]
    assert inner.var.name == "x" and isinstance(inner.body, Seq)
    copy, fence = inner.body.stmts
    assert copy is copies and isinstance(fence, Lowered) and isinstance(fence.code, Fence)
