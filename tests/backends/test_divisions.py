"""How a team runs a kernel's nest: which loops its threads share, and what one of them does alone."""

from __future__ import annotations

from irtool.selection.kernel import KernelNest, Selection
from irtool.selection.teams import Barrier, divide
from irtool.selection.text import SelectedText
from irtool.tir.expr import Load, Var, const, less
from irtool.tir.kernel import Kernel
from irtool.tir.stmt import (
    PARALLEL,
    SERIAL,
    Allocate,
    Buffer,
    For,
    If,
    Lowered,
    PrimFunc,
    Scope,
    Stmt,
    Store,
    pre_order,
    seq,
)


def fill(b: Buffer, kind: str = PARALLEL, steps: int = 4, name: str = "i") -> For:
    """A loop that fills a buffer."""
    v = Var(name)
    return For(v, steps, Store(b, (v,), const(1.0, "float32")), kind)


def buffer(name: str, scope: Scope = Scope.PARAM) -> Buffer:
    return Buffer(name, [16], scope=scope)


def test_a_loop_under_a_condition_is_for_one_thread_and_others_are_shared() -> None:
    a, b = buffer("a"), buffer("b")
    free, bound = fill(a), If(less(Load(a, (const(0),)), const(1.0, "float32")), fill(b))
    division = divide(seq([free, bound]))
    assert division is not None
    assert division.shared == {free}
    assert division.alone == {bound}


def test_of_loops_inside_each_other_the_outer_one_is_shared() -> None:
    a, i = buffer("a"), Var("i")
    before = Store(a, (i,), const(0.0, "float32"))
    outer = For(i, 4, seq([before, fill(a, name="j")]), PARALLEL)
    division = divide(outer)
    assert division is not None
    assert division.shared == {outer}
    assert not division.alone


def test_a_loop_that_is_gone_through_in_step() -> None:
    a, i = buffer("a"), Var("i")
    inner, rest = fill(a, name="j"), Store(a, (i,), const(0.0, "float32"))
    around = For(i, 3, seq([inner, rest]), SERIAL)
    division = divide(around)
    assert division is not None
    assert (division.common, division.shared, division.alone) == ({around}, {inner}, {rest})


def test_loops_of_unknown_steps_are_for_one_thread() -> None:
    a, n, i = buffer("a"), Buffer("n", [1], "int32", scope=Scope.PARAM), Var("i")
    unknown = For(i, Load(n, (const(0),)), fill(a, name="j"), SERIAL)
    assert divide(unknown) is None
    division = divide(seq([unknown, fill(a)]))
    assert division is not None
    assert division.alone == {unknown}


def test_memory_of_a_thread_is_filled_by_each() -> None:
    own, out = buffer("own", Scope.LOCAL), buffer("out")
    first = fill(own, SERIAL)
    second = fill(out)
    division = divide(Allocate(own, seq([first, second])))
    assert division is not None
    assert (division.each, division.shared) == ({first}, {second})


def test_nests_that_have_nothing_to_share() -> None:
    own, out = buffer("own", Scope.LOCAL), buffer("out")
    i = Var("i")
    both: Stmt = For(i, 4, seq([Store(own, (i,), const(1.0, "float32")), Store(out, (i,), const(1.0, "float32"))]))
    assert divide(fill(out, SERIAL)) is None
    assert divide(Allocate(own, seq([both, fill(out)]))) is None, "what one thread stores of it others would not see"


def team_text(body: Stmt, *params: Buffer) -> list[str]:
    """The heads, barriers and stores of the nest that a team runs."""
    kernel = Kernel.of(PrimFunc("k", params, body)).with_body(body)
    nest = KernelNest(kernel, Selection(lambda call: None, for_c=True, team=True))
    lines = SelectedText(nest).lines(nest.selected())
    return [line for line in lines if line.strip() != "}"]


def test_threads_wait_where_others_may_still_write() -> None:
    """Not in front of the first statement, nor twice at one place."""
    a, b = buffer("a"), buffer("b")
    alone = Store(a, (const(0),), const(0.0, "float32"))
    assert team_text(seq([fill(a), alone, fill(b)]), a, b) == [
        "for i in 4 shared by threads, 4 parts of 1 step {",
        "  a[i] = 1.0",
        "barrier",
        "one thread {",
        "  a[0] = 0.0",
        "barrier",
        "for i_1 in 4 shared by threads, 4 parts of 1 step {",
        "  b[i_1] = 1.0",
    ]


def test_a_loop_in_step_ends_each_step_with_a_barrier() -> None:
    a, b = buffer("a"), buffer("b")
    around = For(Var("n"), 3, seq([fill(a), fill(b, name="j")]), SERIAL)
    assert team_text(seq([around, fill(b, name="k")]), a, b) == [
        "for n in 3 {",
        "  for i in 4 shared by threads, 4 parts of 1 step {",
        "    a[i] = 1.0",
        "  barrier",
        "  for j in 4 shared by threads, 4 parts of 1 step {",
        "    b[j] = 1.0",
        "  barrier",
        "for k in 4 shared by threads, 4 parts of 1 step {",
        "  b[k] = 1.0",
    ]


def test_threads_join_late_unless_each_fills_its_own_memory() -> None:
    own, out = buffer("own", Scope.LOCAL), buffer("out")
    i = Var("i")
    reader = For(i, 4, Store(out, (i,), Load(own, (i,))), PARALLEL)
    bodies = {True: seq([fill(out), fill(out)]), False: Allocate(own, seq([fill(own, SERIAL), reader]))}
    for opens, body in bodies.items():
        kernel = Kernel.of(PrimFunc("k", (out,), body)).with_body(body)
        nest = KernelNest(kernel, Selection(lambda call: None, for_c=True, team=True)).selected()
        assert [s.code.opens for s in pre_order(nest) if isinstance(s, Lowered) and isinstance(s.code, Barrier)] == [
            opens
        ]
