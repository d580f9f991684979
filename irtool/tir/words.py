"""Words of four 8-bit numbers, and sums of products of them: what dot-product instructions compute.

    word = pack4(x0, x1, x2, x3)       an int32 whose lowest byte is x0
    dot4_u8s8(a, b)                    sum of a's bytes, as uint8, times b's, as int8; an int32

`dot4` is named after LLVM's and HLSL's functions (`dot4add_u8packed`). Its meaning is the loop of `meaning`, by which the schedule
finds what can be computed so, and by which it is tested.
"""

from __future__ import annotations

from collections.abc import Sequence

from .build import cast, const
from .forms import Reduction
from .nodes import Binary, Call, Expr, Var
from .stmt import Buffer, Scope, Store

STEPS = 4
"""Numbers in a word."""

PACK = "pack4"

_DOTS = {("uint8", "int8"): "dot4_u8s8", ("int8", "int8"): "dot4_s8s8", ("uint8", "uint8"): "dot4_u8u8"}

DOTS = {name: pair for pair, name in _DOTS.items()}
"""The dtypes of the operands' numbers, by the function's name."""


def pack4(numbers: Sequence[Expr]) -> Expr:
    """Four numbers of one 8-bit dtype in a word, the first in its lowest byte."""
    assert len(numbers) == STEPS and all(x.dtype in ("int8", "uint8") for x in numbers)
    return Call(PACK, tuple(numbers), "int32")


def dot4(a: Expr, b: Expr, dtypes: tuple[str, str]) -> Expr:
    """The sum of the products of two words' numbers, which have these dtypes."""
    if dtypes not in _DOTS:
        a, b, dtypes = b, a, dtypes[::-1]
    return Call(_DOTS[dtypes], (a, b), "int32")


def meaning(name: str) -> Reduction:
    """What a dot product of words means: `out[] = acc`, where `for k in 4: acc += a[k] * b[k]`, of 8-bit buffers."""
    first, second = DOTS[name]
    a, b = Buffer("a", (STEPS,), first, Scope.PARAM), Buffer("b", (STEPS,), second, Scope.PARAM)
    out, acc = Buffer("out", (), "int32", Scope.PARAM), Buffer("acc", (), "int32", Scope.LOCAL)
    k = Var("k")
    product = Binary("*", cast(a[k], "int32"), cast(b[k], "int32"), "int32")
    update = Binary("+", acc.element(), product, "int32")
    return Reduction((), acc, const(0), ((k, STEPS),), update, (Store(out, (), acc.element()),))
