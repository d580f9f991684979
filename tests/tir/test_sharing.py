"""What is a mere copy, and which output may lie where an input lies."""

from __future__ import annotations

import pytest

from irtool.tir.expr import Expr, Var, const, less, maximum, minimum, select
from irtool.tir.sharing import copied_input, in_place_pairs, index_bounds, loop_bounds
from irtool.tir.stmt import Allocate, Buffer, For, If, Let, PrimFunc, Seq, Stmt, Store

I, J = Var("i"), Var("j")
A, B, OUT = (Buffer(n, (4, 6)) for n in ("a", "b", "out"))
FLAT, LONG, WHOLE = Buffer("flat", (24,)), Buffer("long", (5, 6)), Buffer("whole", (4, 6), "int32")
ONE = const(1.0, "float32")


def loops(*stores: Stmt, rows: int = 4, columns: int = 6) -> Stmt:
    return For(I, rows, For(J, columns, stores[0] if len(stores) == 1 else Seq(stores)))


def copy(value: Expr, *indices: Expr, to: Buffer = OUT) -> Stmt:
    return Store(to, indices or (I, J), value)


@pytest.mark.parametrize(
    ("params", "body", "copied"),
    [
        ((A, OUT), loops(copy(A[I, J])), 0),
        ((B, A, OUT), loops(copy(A[I, J])), 1),
        ((FLAT, OUT), loops(copy(FLAT[I * 6 + J])), 0),
        ((FLAT, OUT), loops(copy(FLAT[I + J * 4])), None),
        ((FLAT, OUT), loops(copy(FLAT[I * 6 + J], 3 - I, J)), None),
        ((A, OUT), loops(copy(A[I, J]), rows=3), None),
        ((A, OUT), loops(copy(A[I, J] + ONE)), None),
        ((A, OUT), loops(copy(ONE)), None),
        ((WHOLE, OUT), loops(copy(WHOLE[I, J])), None),
        ((LONG, OUT), loops(copy(LONG[I, J])), None),
        ((A, OUT), loops(copy(B[I, J])), None),
        ((A, OUT), For(I, Var("n"), For(J, 6, copy(A[I, J]))), None),
        ((A, OUT), loops(If(less(I, 4), copy(A[I, J]))), None),
    ],
)
def test_copies(params: tuple[Buffer, ...], body: Stmt, copied: int | None) -> None:
    assert copied_input(PrimFunc("f", params, body)) == copied


def test_a_copy_has_one_output() -> None:
    body = loops(copy(A[I, J]))
    assert copied_input(PrimFunc("f", (A, B, OUT), body, num_outputs=2)) is None


INSIDE = Buffer("inside", (4, 6))


@pytest.mark.parametrize(
    ("params", "outputs", "body", "pairs"),
    [
        ((A, OUT), 1, loops(copy(A[I, J] + ONE)), [(0, 0)]),
        ((A, B, OUT), 1, loops(copy(A[I, J] * B[I, J] + A[I, J])), [(0, 0), (1, 0)]),
        ((A, B, OUT), 1, loops(copy(A[I, J] * B[3 - I, J])), [(0, 0)]),
        ((A, OUT), 1, loops(copy(A[I, J] + A[I, 5 - J])), []),
        ((A, OUT), 1, loops(copy(select(less(A[I, J], ONE), A[I, J], ONE))), [(0, 0)]),
        ((A, OUT), 1, loops(If(less(A[I, J], ONE), copy(A[I, J]))), []),
        ((A, OUT), 1, Seq([loops(copy(A[I, J])), loops(copy(ONE))]), [(0, 0)]),
        ((A, OUT), 1, Seq([loops(copy(A[I, J])), loops(copy(OUT[I, J] + ONE))]), [(0, 0)]),
        ((A, OUT), 1, Seq([loops(copy(A[I, J])), loops(copy(A[I, 5 - J]))]), []),
        ((A, OUT), 1, Seq([loops(copy(ONE)), loops(copy(A[I, J]))]), []),
        ((A, OUT), 1, loops(copy(A[I, J] + OUT[I, J])), []),
        ((FLAT, OUT), 1, loops(copy(FLAT[I * 6 + J] * ONE)), [(0, 0)]),
        ((LONG, OUT), 1, loops(copy(LONG[I, J] * ONE)), []),
        ((WHOLE, OUT), 1, loops(copy(WHOLE[I, J].astype("float32"))), []),
        ((A, B, OUT), 1, loops(copy(B[I, J] + ONE)), [(1, 0)]),
        ((A, B, OUT), 2, loops(copy(A[I, J] + ONE, to=B), copy(ONE)), [(0, 0)]),
        ((A, B, OUT), 2, loops(copy(ONE, to=B), copy(A[I, J] + ONE)), [(0, 1)]),
        ((A, B, OUT), 2, loops(copy(A[I, J] + ONE, to=B), copy(A[I, J])), []),
        ((A, OUT), 1, Allocate(INSIDE, Seq([loops(copy(A[I, J], to=INSIDE)), loops(copy(INSIDE[I, J] + ONE))])), []),
    ],
)
def test_outputs_in_the_place_of_inputs(
    params: tuple[Buffer, ...], outputs: int, body: Stmt, pairs: list[tuple[int, int]]
) -> None:
    assert in_place_pairs(PrimFunc("f", params, body, outputs)) == pairs


def test_ranges_of_loops() -> None:
    body = For(I, 4, For(J, Var("n"), copy(ONE)))
    assert loop_bounds(PrimFunc("f", (OUT,), body)) == {I: (0, 3)}


def test_ranges_follow_from_the_loops_around() -> None:
    """The first row of a window at a border, and the rows that are left of it."""
    y, first, k = Var("y"), Var("first"), Var("k")
    rows = minimum(const(3), 29 - y) - first
    body = For(y, 28, Let(first, maximum(const(0), 1 - y), For(k, rows, copy(ONE))))
    assert index_bounds(body) == {y: (0, 27), first: (0, 1), k: (0, 2)}


def test_a_variable_of_two_loops_has_both_ranges() -> None:
    n = Var("n")
    assert index_bounds(Seq([For(n, 3, copy(ONE)), For(n, 7, copy(ONE)), For(n, 5, copy(ONE))])) == {n: (0, 6)}


def test_nothing_is_known_of_a_loop_that_the_data_bounds() -> None:
    assert index_bounds(For(Var("k"), WHOLE[0, 0], copy(ONE))) == {}
