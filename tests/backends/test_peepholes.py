"""Peepholes on the steps of a vectorized loop, before and after, in text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from irtool.backends.formulas.vector_math import function_for
from irtool.selection.vectors import ir
from irtool.selection.vectors.lower import Lowering
from irtool.selection.vectors.peepholes import (
    PEEPHOLES,
    Peephole,
    accumulate,
    join_words,
    keep_bits,
    load_once,
    load_words,
    round_once,
)
from irtool.selection.vectors.rewrite import rewrite
from irtool.selection.vectors.types import VectorType
from irtool.tir.bf16_dot import pack2
from irtool.tir.expr import Cast, Expr, Load, Var, add, const, less, mul, select
from irtool.tir.int8_dot import pack
from irtool.tir.int16_dot import dot2 as dot2_wide
from irtool.tir.int16_dot import pack2 as pack2_wide
from irtool.tir.simplify import Simplifier
from irtool.tir.stmt import Buffer, Scope, Store
from tests.backends.vector_text import show_body

X, Y = Buffer("x", (256,)), Buffer("y", (256,))
B, C = Buffer("b", (256,), "uint8"), Buffer("c", (256,), "int8")
H, G = Buffer("h", (256,), "float16"), Buffer("g", (256,), "float16")
I = Buffer("i", (256,), "int32")
S = Buffer("s", (256,), "int16")
P = Buffer("p", (256,), "bfloat16")
ACC = Buffer("acc", (1, 8), "float32", Scope.REGISTER)


def lower(target: Buffer, value: Callable[[Var], Expr]) -> ir.Body:
    """The body of `for lane in 8: target[lane] = value(lane)`, before it is rewritten."""
    lane = Var("lane")

    def register(x: Load | Store) -> ir.Register | None:
        b = x.source if isinstance(x, Load) else x.buffer
        return (b, (0,)) if b.scope == Scope.REGISTER else None

    lowering = Lowering(Simplifier({lane: (0, 7)}), register, lambda c: function_for(c, False), lane, 8, 8)
    indices = (const(0), lane) if target.scope == Scope.REGISTER else (lane,)
    return lowering.lower([Store(target, indices, value(lane))])


def word(b: Buffer, first: Expr, *places: int) -> Expr:
    """The numbers at these places behind the first one, packed."""
    numbers = [b[first + n] for n in places]
    return pack(numbers) if len(places) == 4 else pack2(numbers) if b.dtype == "bfloat16" else pack2_wide(numbers)


CASES: dict[str, tuple[Peephole, Buffer, Callable[[Var], Expr], str]] = {
    "accumulate": (
        accumulate,
        I,
        lambda k: add(I[k], dot2_wide(I[k + 8], I[k + 16])),
        """
%0 = LoadVector(int32x8, i, 0, 1, 8)
%1 = LoadVector(int32x8, i, 8, 1, 8)
%2 = LoadVector(int32x8, i, 16, 1, 8)
%3 = Apply(int32x8, dot2_i16, [%0, %1, %2])
StoreVector(i, 0, %3, 1, 8)
""",
    ),
    "accumulate: an inner sum": (
        accumulate,
        I,
        lambda k: add(I[k], add(I[k], dot2_wide(I[k + 8], I[k + 16]))),
        """
%0 = LoadVector(int32x8, i, 0, 1, 8)
%1 = LoadVector(int32x8, i, 0, 1, 8)
%2 = LoadVector(int32x8, i, 8, 1, 8)
%3 = LoadVector(int32x8, i, 16, 1, 8)
%4 = Apply(int32x8, dot2_i16, [%1, %2, %3])
%5 = Arithmetic(int32x8, +, %0, %4)
StoreVector(i, 0, %5, 1, 8)
""",
    ),
    "round_once": (
        round_once,
        H,
        lambda k: add(H[k], G[k]),
        """
%0 = LoadVector(uint16x8, h, 0, 1, 8)
%1 = Apply(float32x8, h2f, [%0])
%2 = LoadVector(uint16x8, g, 0, 1, 8)
%3 = Apply(float32x8, h2f, [%2])
%4 = Arithmetic(float32x8, +, %1, %3)
%5 = Apply(uint16x8, f2h, [%4])
StoreVector(h, 0, %5, 1, 8)
""",
    ),
    "round_once: another format": (
        round_once,
        P,
        lambda k: Cast(add(H[k], G[k]), "bfloat16"),
        """
%0 = LoadVector(uint16x8, h, 0, 1, 8)
%1 = Apply(float32x8, h2f, [%0])
%2 = LoadVector(uint16x8, g, 0, 1, 8)
%3 = Apply(float32x8, h2f, [%2])
%4 = Arithmetic(float32x8, +, %1, %3)
%5 = Apply(float32x8, round_float16, [%4])
%6 = Apply(uint16x8, f2b, [%5])
StoreVector(p, 0, %6, 1, 8)
""",
    ),
    "keep_bits": (
        keep_bits,
        H,
        lambda k: G[k],
        """
%0 = LoadVector(uint16x8, g, 0, 1, 8)
StoreVector(h, 0, %0, 1, 8)
""",
    ),
    "load_once": (
        load_once,
        ACC,
        lambda k: X[k],
        """
%0 = LoadVector(float32x8, x, 0, 1, 8, once=True)
Assign(acc[0], %0)
""",
    ),
    "load_once: far apart": (
        load_once,
        ACC,
        lambda k: X[k * 5],
        """
%0 = LoadVector(float32x8, x, 0, 5, 8)
Assign(acc[0], %0)
""",
    ),
    "load_words: bytes": (
        load_words,
        I,
        lambda k: word(B, k * 4 + 8, 0, 1, 2, 3),
        """
%0 = LoadVector(int32x8, b, 8, 1, 8, words=True)
StoreVector(i, 0, %0, 1, 8)
""",
    ),
    "load_words: numbers of 16 bits": (
        load_words,
        I,
        lambda k: word(S, k * 2, 0, 1),
        """
%0 = LoadVector(int16x16, s, 0, 1, 16)
%1 = Bitcast(int32x8, %0)
StoreVector(i, 0, %1, 1, 8)
""",
    ),
    "load_words: bytes that are widened": (
        load_words,
        I,
        lambda k: word(C, k * 2, 0, 1),
        """
%0 = LoadVector(int8x16, c, 0, 1, 16)
%1 = Convert(int16x16, %0)
%2 = Bitcast(int32x8, %1)
StoreVector(i, 0, %2, 1, 8)
""",
    ),
    "load_words: bfloat16": (
        load_words,
        I,
        lambda k: word(P, k * 2, 0, 1),
        """
%0 = LoadVector(int32x8, p, 0, 1, 8, words=True)
StoreVector(i, 0, %0, 1, 8)
""",
    ),
    "load_words: not neighbours": (
        load_words,
        I,
        lambda k: word(P, k * 2, 0, 2),
        """
%0 = LoadVector(uint16x8, p, 0, 2, 8, channel=channel_2_0)
%1 = Apply(float32x8, b2f, [%0])
%2 = LoadVector(uint16x8, p, 2, 2, 8, channel=channel_2_0)
%3 = Apply(float32x8, b2f, [%2])
%4 = Pack(int32x8, [%1, %3])
StoreVector(i, 0, %4, 1, 8)
""",
    ),
    "load_words: words that overlap": (
        load_words,
        I,
        lambda k: word(S, k, 0, 1),
        """
%0 = LoadVector(int16x8, s, 0, 1, 8)
%1 = LoadVector(int16x8, s, 1, 1, 8)
%2 = Pack(int32x8, [%0, %1])
StoreVector(i, 0, %2, 1, 8)
""",
    ),
    "join_words: bytes": (
        join_words,
        I,
        lambda k: word(C, k * 7, 0, 1, 2, 3),
        """
%0 = LoadVector(int8x8, c, 0, 7, 8)
%1 = LoadVector(int8x8, c, 1, 7, 8)
%2 = LoadVector(int8x8, c, 2, 7, 8)
%3 = LoadVector(int8x8, c, 3, 7, 8)
%4 = Bitcast(uint8x8, %0)
%5 = Convert(int32x8, %4)
%6 = Bitcast(uint8x8, %1)
%7 = Convert(int32x8, %6)
%8 = Bitcast(uint8x8, %2)
%9 = Convert(int32x8, %8)
%10 = Bitcast(uint8x8, %3)
%11 = Convert(int32x8, %10)
%12 = Shift(int32x8, <<, %7, 8)
%13 = Arithmetic(int32x8, |, %5, %12)
%14 = Shift(int32x8, <<, %9, 16)
%15 = Arithmetic(int32x8, |, %13, %14)
%16 = Shift(int32x8, <<, %11, 24)
%17 = Arithmetic(int32x8, |, %15, %16)
StoreVector(i, 0, %17, 1, 8)
""",
    ),
    "join_words: numbers of 16 bits": (
        join_words,
        I,
        lambda k: word(S, k, 0, 3),
        """
%0 = LoadVector(int16x8, s, 0, 1, 8)
%1 = LoadVector(int16x8, s, 3, 1, 8)
%2 = Convert(int32x8, %0)
%3 = Bitcast(uint32x8, %2)
%4 = Convert(int32x8, %1)
%5 = Bitcast(uint32x8, %4)
%6 = Shift(uint32x8, <<, %3, 16)
%7 = Shift(uint32x8, >>, %6, 16)
%8 = Shift(uint32x8, <<, %5, 16)
%9 = Arithmetic(uint32x8, |, %7, %8)
%10 = Bitcast(int32x8, %9)
StoreVector(i, 0, %10, 1, 8)
""",
    ),
    "join_words: bfloat16": (
        join_words,
        I,
        lambda k: word(P, k, 0, 3),
        """
%0 = LoadVector(uint16x8, p, 0, 1, 8)
%1 = Apply(float32x8, b2f, [%0])
%2 = LoadVector(uint16x8, p, 3, 1, 8)
%3 = Apply(float32x8, b2f, [%2])
%4 = Bitcast(uint32x8, %1)
%5 = Shift(uint32x8, >>, %4, 16)
%6 = Bitcast(uint32x8, %3)
%7 = Shift(uint32x8, >>, %6, 16)
%8 = Shift(uint32x8, <<, %7, 16)
%9 = Arithmetic(uint32x8, |, %5, %8)
%10 = Bitcast(int32x8, %9)
StoreVector(i, 0, %10, 1, 8)
""",
    ),
}
"""A peephole, a loop that stores an expression, and the steps after the peephole alone."""


@pytest.mark.parametrize("case", CASES)
def test_steps_after_a_peephole(case: str) -> None:
    peephole, target, value, expected = CASES[case]
    body = lower(target, value)
    rewrite(body, [peephole])
    assert show_body(body) == expected.strip()


def test_every_peephole_has_a_case() -> None:
    assert {c[0] for c in CASES.values()} == set(PEEPHOLES)


def test_a_dot_product_that_has_another_use_stays() -> None:
    def value(k: Var) -> Expr:
        product = dot2_wide(I[k], I[k + 8])
        return mul(add(I[k + 16], product), product)

    body = lower(I, value)
    before = show_body(body)
    rewrite(body, [accumulate])
    assert show_body(body) == before


def test_a_value_that_gains_a_use_is_named() -> None:
    """Two of the stores are of the same bits; the load is one variable then."""
    body = ir.Body()
    bits = ir.LoadVector(VectorType("uint16", 8), H, const(0), 1, 8)
    number = ir.Apply(VectorType("float32", 8), ("h2f", "float32", 8), (bits,))
    back = ir.Apply(bits.type, ("f2h", "float32", 8), (number,))
    number.named = True
    stores = [ir.StoreVector(G, const(0), back, 1, 8), ir.StoreVector(Y, const(0), number, 1, 8)]
    body.steps = [bits, number, back, *stores]
    rewrite(body)
    assert body.steps == [bits, number, *stores] and bits.named and stores[0].value is bits


def test_parts_of_a_condition_are_rewritten_too() -> None:
    n = Var("n")
    body = lower(I, lambda k: select(less(n, 3), add(I[k], dot2_wide(I[k], I[k + 8])), I[k + 16]))
    rewrite(body)
    assert (
        show_body(body)
        == """
%0 = Pick(int32x8, (n < 3))
  then:
    %1 = LoadVector(int32x8, i, 0, 1, 8)
    %2 = LoadVector(int32x8, i, 0, 1, 8)
    %3 = LoadVector(int32x8, i, 8, 1, 8)
    %4 = Apply(int32x8, dot2_i16, [%1, %2, %3])
    -> %4
  other:
    %5 = LoadVector(int32x8, i, 16, 1, 8)
    -> %5
StoreVector(i, 0, %0, 1, 8)
""".strip()
    )
    assert ir.called(body.steps) == [("dot2_i16", "int32", 8)]
