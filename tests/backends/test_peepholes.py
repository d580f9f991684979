"""Peepholes on the steps of a vectorized loop, before and after, in text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from irtool.backends.formulas.vector_math import function_for
from irtool.selection.text import body_text
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
%0: int32x8 = load(i[0])
%1: int32x8 = load(i[8])
%2: int32x8 = load(i[16])
%3: int32x8 = @dot2_i16(%0, %1, %2)
store(i[0], %3)
""",
    ),
    "accumulate: an inner sum": (
        accumulate,
        I,
        lambda k: add(I[k], add(I[k], dot2_wide(I[k + 8], I[k + 16]))),
        """
%0: int32x8 = load(i[0])
%1: int32x8 = load(i[0])
%2: int32x8 = load(i[8])
%3: int32x8 = load(i[16])
%4: int32x8 = @dot2_i16(%1, %2, %3)
%5: int32x8 = %0 + %4
store(i[0], %5)
""",
    ),
    "round_once": (
        round_once,
        H,
        lambda k: add(H[k], G[k]),
        """
%0: uint16x8 = load(h[0])
%1: float32x8 = @h2f(%0)
%2: uint16x8 = load(g[0])
%3: float32x8 = @h2f(%2)
%4: float32x8 = %1 + %3
%5: uint16x8 = @f2h(%4)
store(h[0], %5)
""",
    ),
    "round_once: another format": (
        round_once,
        P,
        lambda k: Cast(add(H[k], G[k]), "bfloat16"),
        """
%0: uint16x8 = load(h[0])
%1: float32x8 = @h2f(%0)
%2: uint16x8 = load(g[0])
%3: float32x8 = @h2f(%2)
%4: float32x8 = %1 + %3
%5: float32x8 = @round_float16(%4)
%6: uint16x8 = @f2b(%5)
store(p[0], %6)
""",
    ),
    "keep_bits": (
        keep_bits,
        H,
        lambda k: G[k],
        """
%0: uint16x8 = load(g[0])
store(h[0], %0)
""",
    ),
    "load_once": (
        load_once,
        ACC,
        lambda k: X[k],
        """
%0: float32x8 = load(x[0], once)
acc[0] = %0
""",
    ),
    "load_once: far apart": (
        load_once,
        ACC,
        lambda k: X[k * 5],
        """
%0: float32x8 = load(x[0], stride=5)
acc[0] = %0
""",
    ),
    "load_words: bytes": (
        load_words,
        I,
        lambda k: word(B, k * 4 + 8, 0, 1, 2, 3),
        """
%0: int32x8 = load(b[8], words)
store(i[0], %0)
""",
    ),
    "load_words: numbers of 16 bits": (
        load_words,
        I,
        lambda k: word(S, k * 2, 0, 1),
        """
%0: int16x16 = load(s[0])
%1: int32x8 = bitcast(%0)
store(i[0], %1)
""",
    ),
    "load_words: bytes that are widened": (
        load_words,
        I,
        lambda k: word(C, k * 2, 0, 1),
        """
%0: int8x16 = load(c[0])
%1: int16x16 = convert(%0)
%2: int32x8 = bitcast(%1)
store(i[0], %2)
""",
    ),
    "load_words: bfloat16": (
        load_words,
        I,
        lambda k: word(P, k * 2, 0, 1),
        """
%0: int32x8 = load(p[0], words)
store(i[0], %0)
""",
    ),
    "load_words: not neighbours": (
        load_words,
        I,
        lambda k: word(P, k * 2, 0, 2),
        """
%0: uint16x8 = load(p[0], channel 0 of 2)
%1: float32x8 = @b2f(%0)
%2: uint16x8 = load(p[2], channel 0 of 2)
%3: float32x8 = @b2f(%2)
%4: int32x8 = pack(%1, %3)
store(i[0], %4)
""",
    ),
    "load_words: words that overlap": (
        load_words,
        I,
        lambda k: word(S, k, 0, 1),
        """
%0: int16x8 = load(s[0])
%1: int16x8 = load(s[1])
%2: int32x8 = pack(%0, %1)
store(i[0], %2)
""",
    ),
    "join_words: bytes": (
        join_words,
        I,
        lambda k: word(C, k * 7, 0, 1, 2, 3),
        """
%0: int8x8 = load(c[0], stride=7)
%1: int8x8 = load(c[1], stride=7)
%2: int8x8 = load(c[2], stride=7)
%3: int8x8 = load(c[3], stride=7)
%4: uint8x8 = bitcast(%0)
%5: int32x8 = convert(%4)
%6: uint8x8 = bitcast(%1)
%7: int32x8 = convert(%6)
%8: uint8x8 = bitcast(%2)
%9: int32x8 = convert(%8)
%10: uint8x8 = bitcast(%3)
%11: int32x8 = convert(%10)
%12: int32x8 = %7 << 8
%13: int32x8 = %5 | %12
%14: int32x8 = %9 << 16
%15: int32x8 = %13 | %14
%16: int32x8 = %11 << 24
%17: int32x8 = %15 | %16
store(i[0], %17)
""",
    ),
    "join_words: numbers of 16 bits": (
        join_words,
        I,
        lambda k: word(S, k, 0, 3),
        """
%0: int16x8 = load(s[0])
%1: int16x8 = load(s[3])
%2: int32x8 = convert(%0)
%3: uint32x8 = bitcast(%2)
%4: int32x8 = convert(%1)
%5: uint32x8 = bitcast(%4)
%6: uint32x8 = %3 << 16
%7: uint32x8 = %6 >> 16
%8: uint32x8 = %5 << 16
%9: uint32x8 = %7 | %8
%10: int32x8 = bitcast(%9)
store(i[0], %10)
""",
    ),
    "join_words: bfloat16": (
        join_words,
        I,
        lambda k: word(P, k, 0, 3),
        """
%0: uint16x8 = load(p[0])
%1: float32x8 = @b2f(%0)
%2: uint16x8 = load(p[3])
%3: float32x8 = @b2f(%2)
%4: uint32x8 = bitcast(%1)
%5: uint32x8 = %4 >> 16
%6: uint32x8 = bitcast(%3)
%7: uint32x8 = %6 >> 16
%8: uint32x8 = %7 << 16
%9: uint32x8 = %5 | %8
%10: int32x8 = bitcast(%9)
store(i[0], %10)
""",
    ),
}
"""A peephole, a loop that stores an expression, and the steps after the peephole alone."""


@pytest.mark.parametrize("case", CASES)
def test_steps_after_a_peephole(case: str) -> None:
    peephole, target, value, expected = CASES[case]
    body = lower(target, value)
    rewrite(body, [peephole])
    assert body_text(body) == expected.strip()


def test_every_peephole_has_a_case() -> None:
    assert {c[0] for c in CASES.values()} == set(PEEPHOLES)


def test_a_dot_product_that_has_another_use_stays() -> None:
    def value(k: Var) -> Expr:
        product = dot2_wide(I[k], I[k + 8])
        return mul(add(I[k + 16], product), product)

    body = lower(I, value)
    before = body_text(body)
    rewrite(body, [accumulate])
    assert body_text(body) == before


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
        body_text(body)
        == """
%0: int32x8 = if n < 3 {
  %1: int32x8 = load(i[0])
  %2: int32x8 = load(i[0])
  %3: int32x8 = load(i[8])
  %4: int32x8 = @dot2_i16(%1, %2, %3)
  -> %4
} else {
  %5: int32x8 = load(i[16])
  -> %5
}
store(i[0], %0)
""".strip()
    )
    assert ir.called(body.steps) == [("dot2_i16", "int32", 8)]
