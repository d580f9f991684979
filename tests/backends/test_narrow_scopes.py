"""Arrays on the stack are declared in the innermost loop that no value of them crosses."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.schedule import VectorTarget, without
from irtool.selection.narrow_scopes import narrow_scopes
from irtool.tir.expr import Load, Var, const, less
from irtool.tir.stmt import PARALLEL, VECTORIZED, Allocate, Buffer, For, If, Scope, Seq, Stmt, Store, pre_order
from tests.schedule.convolutions import network
from tests.schedule.programs import V, check_nest, scheduled

OUT = Buffer("out", (8, 8))


def parents_of_allocations(body: Stmt) -> list[str]:
    """The loops directly around allocations, `-` for none."""
    return [
        s.var.name if isinstance(s, For) else "-"
        for s in (For(Var("-"), 1, body), *pre_order(body))
        for x in ([s.body] if isinstance(s, For) else s.stmts if isinstance(s, Seq) else [])
        if isinstance(x, Allocate)
    ]


def lanes(b: Buffer, y: Var, name: str = "v", first: int = 0) -> Stmt:
    """Stores b[v] and b[v + 4], and reads both."""
    v = Var(name)
    stores = [Store(b, (v + n,), const(1.0, "float32")) for n in (0, 4)]
    return For(v, 4, Seq([*stores, Store(OUT, (y, v), Load(b, (v + first,)) + Load(b, (v + 4,)))]))


def test_every_loop_that_stores_what_it_reads_has_an_array() -> None:
    part, y, x = Buffer("part", (8,), scope=Scope.LOCAL), Var("y"), Var("x")
    body = Allocate(part, Seq([For(y, 8, lanes(part, y)), For(x, 8, lanes(part, x, "w"))]))
    assert parents_of_allocations(narrow_scopes(body)) == ["v", "w"]


@pytest.mark.parametrize("kind", [PARALLEL, VECTORIZED])
def test_loops_of_threads_and_lanes_stay_inside(kind: str) -> None:
    part, y = Buffer("part", (8,), scope=Scope.LOCAL), Var("y")
    body = Allocate(part, For(y, 8, lanes(part, y), kind))
    assert narrow_scopes(body) is body


def test_stored_in_one_loop_and_read_in_the_next() -> None:
    row, y, v, w = Buffer("row", (4,), scope=Scope.LOCAL), Var("y"), Var("v"), Var("w")
    store = For(v, 4, Store(row, (v,), const(1.0, "float32")))
    for extent, loops in ((4, ["y"]), (3, ["y"])):
        read = For(w, extent, Store(OUT, (y, w), Load(row, (w,))))
        parents = parents_of_allocations(narrow_scopes(Allocate(row, For(y, 8, Seq([store, read])))))
        assert parents == (loops if extent == 4 else ["-"]), "fewer steps are not seen to be among those stored"


def test_a_diagonal_is_not_a_square() -> None:
    square, y, v = Buffer("square", (4, 4), scope=Scope.LOCAL), Var("y"), Var("v")
    a, b = Var("a"), Var("b")
    diagonal = For(v, 4, Store(square, (v, v), const(1.0, "float32")))
    rows = For(a, 4, For(b, 4, Store(OUT, (a, b), Load(square, (a, b)))))
    assert parents_of_allocations(narrow_scopes(Allocate(square, For(y, 8, Seq([diagonal, rows]))))) == ["-"]


def test_values_that_steps_hand_on_stay_outside() -> None:
    total, y, v = Buffer("total", (4,), scope=Scope.LOCAL), Var("y"), Var("v")
    add = For(y, 8, For(v, 4, Store(total, (v,), Load(total, (v,)) + 1.0)))
    assert parents_of_allocations(narrow_scopes(Allocate(total, add))) == ["-"]
    condition = For(y, 8, Seq([If(less(y, 1), Store(total, (const(0),), const(1.0, "float32"))), lanes_read(total, y)]))
    assert parents_of_allocations(narrow_scopes(Allocate(total, condition))) == ["-"]


def lanes_read(b: Buffer, y: Var) -> Stmt:
    return Store(OUT, (y, const(0)), Load(b, (const(0),)))


@pytest.mark.parametrize("size", ["2", "4", "6"])
@pytest.mark.parametrize("off", [(), ("winograd",)], ids=["vectors", "plain"])
def test_nests_of_transformed_convolutions(size: str, off: tuple[str, ...]) -> None:
    """Arrays of the interpreter begin as zeros, so a value that was lost would show."""
    module = network()
    with without(*off):
        program = scheduled(module, VectorTarget(16, 16, winograd=size))
    program.kernels[:] = [k.replace(nests=tuple(map(narrow_scopes, k.nests))) for k in program.kernels]
    check_nest(module, program)


@pytest.mark.parametrize("filters", [9, 10, 17])
@pytest.mark.parametrize("after", ["tanh", "nn.relu"])
def test_plain_loops_of_gcc(filters: int, after: str) -> None:
    """Results of 198 instead of 1e-4 with gcc 12 at -O3 -mavx2, as long as an array was declared outside of its loops."""
    rng = np.random.default_rng(0)
    shapes = {"x": (1, 64, 48, 96), "w": (32, 64, 3, 3), "u": (filters, 32, 3, 3)}
    values = {n: rng.standard_normal(s).astype("float32") for n, s in shapes.items()}
    head = ", ".join(f"%{n}: Tensor[{s}, float32]" for n, s in shapes.items())
    module = irtool.parse(
        f"{V}def @main({head}) {{ nn.conv2d({after}(nn.conv2d(%x, %w, padding=[1, 1])), %u, padding=[1, 1]) }}\n"
    )
    expected = irtool.evaluate(module, list(values.values()))
    x = values.pop("x")
    with without("winograd"):
        result = irtool.build(module, params=values, inputs=["x"], target="c{cc=gcc,mcpu=haswell}").run([x])
    np.testing.assert_allclose(result, expected, rtol=1e-3, atol=2e-2)
