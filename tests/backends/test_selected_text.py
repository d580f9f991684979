"""The text of selected nests: one line for each step, unique names, no line that grows with the sharing of an expression."""

from __future__ import annotations

import pytest

from irtool.selection.kernel import KernelNest, Selection
from irtool.selection.streams import Fence
from irtool.selection.text import SelectedText, body_text, selected_text
from irtool.selection.vectors import ir
from irtool.selection.vectors.channels import Channel
from irtool.selection.vectors.types import VectorType
from irtool.tir.expr import Var, add, const
from irtool.tir.kernel import Kernel
from irtool.tir.stmt import Buffer, For, Let, Lowered, PrimFunc, Scope, Seq, Store, While

F, I = VectorType("float32", 4), VectorType("int32", 4)
X, T = Buffer("x", (64,)), Buffer("table", (256,), "uint8")
ACC = Buffer("acc", (2, 4), "float32", Scope.REGISTER)
K = Var("k")
A, B = ir.Read(F, (ACC, (0,))), ir.Read(F, (ACC, (1,)))
HELD = ir.LoadVector(F, X, const(0), 1, 4)
HELD.stays_in_register = HELD.named = True

VALUES: dict[str, ir.Value] = {
    "%2: int32x4 = lane()": ir.Lanes(I),
    "%2: float32x4 = splat(x[k])": ir.Splat(F, X[K]),
    "%2: float32x4 = build(x[0], x[k + 1], x[2], x[3])": ir.Build(F, (X[0], X[add(K, 1)], X[2], X[3])),
    "%2: float32x4 = acc[1]": ir.Read(F, (ACC, (1,))),
    "let %2: float32x4 = load(x[0], held)": HELD,
    "%2: float32x4 = load(x[k], stride=2, count=3)": ir.LoadVector(F, X, K, 2, 3),
    "%2: float32x4 = load(x[k], channel 1 of 3)": ir.LoadVector(F, X, K, 3, 4, channel=Channel(3, 1)),
    "%2: float32x4 = load(x[k], places=[0, 2, 3, 5])": ir.LoadVector(F, X, K, 0, 4, places=(0, 2, 3, 5)),
    "%2: int32x4 = load(table[k], words)": ir.LoadVector(I, T, K, 1, 4, words=True),
    "%2: float32x4 = look_up(table, %0)": ir.LookUp(F, T, A),
    "%2: int32x4 = not(%0)": ir.Unary(I, "not", A),
    "%2: float32x4 = %0 * %1": ir.Arithmetic(F, "*", A, B),
    "%2: int32x4 = %0 <= %1": ir.Compare(I, "<=", A, B),
    "%2: int32x4 = %0 & %1": ir.Logic(I, "&", (A, B)),
    "%2: int32x4 = choose(%0, %1, %1)": ir.Logic(I, "choose", (A, B, B)),
    "%2: int32x4 = %0 >> 3": ir.Shift(I, ">>", A, 3),
    "%2: int32x4 = convert(%0)": ir.Convert(I, A),
    "%2: int32x4 = bitcast(%0)": ir.Bitcast(I, A),
    "%2: float32x4 = same(%0)": ir.Same(F, A),
    "%2: int32x4 = pack(%0, %1)": ir.Pack(I, (A, B)),
    "%2: float32x4 = @exp(%0)": ir.Apply(F, ("exp", "float32", 4), (A,)),
    "%2: float32x4 = if k < 3 {\n  -> %0\n} else {\n  -> %1\n}": ir.Pick(F, K < 3, ir.Body([], A), ir.Body([], B)),
}


@pytest.mark.parametrize("text", VALUES)
def test_the_line_of_a_value(text: str) -> None:
    body = ir.Body([A, B, VALUES[text], ir.StoreVector(X, K, VALUES[text], 2, 3)])
    lines = body_text(body).removeprefix("%0: float32x4 = acc[0]\n%1: float32x4 = acc[1]\n")
    assert lines == f"{text}\nstore(x[k], %2, stride=2, count=3)"


def test_every_kind_of_value_has_a_line() -> None:
    assert {type(v) for v in VALUES.values()} == set(ir.Value.__subclasses__())


def nest_text(body: object, for_c: bool = True) -> str:
    kernel = Kernel.of(PrimFunc("k", (X,), Seq(())))
    nest = KernelNest(kernel, Selection(lambda call: None, for_c))
    return "\n".join(SelectedText(nest).lines(body))  # type: ignore[arg-type]  # any statement


def test_a_copy_past_the_caches_and_its_fence() -> None:
    square = ir.CopySquare(VectorType("float32", 16), 8, X, K, 16, T, const(3), 32, streams=True)
    text = nest_text(Seq([Lowered(Seq(()), square), Lowered(Seq(()), Fence())]))
    assert text == "transpose(x[k], stride=16, table[3], stride=32, 16 x 8 float32, past the caches)\nfence"


def test_loops_show_what_the_back_end_writes() -> None:
    loop = For(K, 8, Store(X, (K,), const(0.0, "float32")), "parallel")
    assert nest_text(loop).splitlines()[0] == "for k in 8 parallel {"
    assert nest_text(loop, for_c=False).splitlines()[0] == "for k in 8 {"


def test_names_are_unique() -> None:
    first, second = Var("k"), Var("k")
    copy = Store(Buffer("x", (4,)), (second,), X[first])
    assert nest_text(For(first, 2, For(second, 3, copy))).splitlines() == [
        "for k in 2 {",
        "  for k_1 in 3 {",
        "    x[k_1] = x_1[k]",
        "  }",
        "}",
    ]


def test_a_shared_expression_is_printed_once() -> None:
    """Its text would have 2^60 terms. A condition that is computed in every turn is no place for it."""
    e = X[K]
    for _ in range(60):
        e = add(e, e)
    text = nest_text(Let(Var("y", "float32"), e, Store(X, (K,), const(0.0, "float32"))))
    assert len(text) < 40_000 and "t: float32 = " in text and "\ny: float32 = " in text
    assert nest_text(While(X[0] < 3, Store(X, (K,), const(0.0, "float32")))).startswith("while x[0] < 3")


def test_a_kernel_is_printed_the_same_each_time() -> None:
    y = Buffer("y", (64,))
    kernel = Kernel.of(PrimFunc("double", (X, y), For(K, 64, Store(y, (K,), add(X[K], X[K])))), ["add"])
    selection = Selection(lambda call: None)
    text = "@double = kernel(x: float32[64]) -> (y: float32[64]) {\n  // add\n  for k in 64 {\n    y[k] = x[k] + x[k]\n  }\n}\n"
    assert selected_text(selection, kernel) == selected_text(selection, kernel) == text
