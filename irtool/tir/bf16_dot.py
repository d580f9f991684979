"""Words of two bfloat16 numbers, and sums of products of them, as `vdpbf16ps` computes them (see `int8_dot` for bytes).

    word = pack2_bf16(x0, x1)          an int32 whose lower half is x0
    dot2_bf16(a, b)                    a1 * b1 + a0 * b0, a float32

Products of two bfloat16 numbers are exact in float32. Where a dot product is added to something, the upper product is added first
and the lower one then, each sum rounded to nearest even: `(c + a1 * b1) + a0 * b0`. That is what processors do (found by comparing
9 million random words on a Zen 4; Intel, Architecture Instruction Set Extensions, VDPBF16PS). They take subnormal numbers for
zeros, which other code does not: there alone, below 2**-126, results differ. Its meaning is the loop of `meaning`, by which the
schedule finds what can be computed so.
"""

from __future__ import annotations

from collections.abc import Sequence

from .build import const
from .dot_meaning import dot_meaning
from .forms import Reduction
from .intrinsics import reinterpret
from .nodes import Binary, Call, Expr

NUMBERS = 2
"""Numbers in a word."""

PACK_PAIR = "pack2_bf16"
DOT_PAIR = "dot2_bf16"
DTYPE = "bfloat16"


def pack2(numbers: Sequence[Expr]) -> Expr:
    """Two bfloat16 numbers in a word, the first in its lower half."""
    assert len(numbers) == NUMBERS and all(x.dtype == DTYPE for x in numbers)
    return Call(PACK_PAIR, tuple(numbers), "int32")


def dot2(a: Expr, b: Expr) -> Expr:
    """The sum of the products of two words' numbers."""
    return Call(DOT_PAIR, (a, b), "float32")


def numbers_of(word: Expr) -> tuple[Expr, Expr]:
    """The two numbers of a word, the first one first, as float32."""
    lower, upper = Binary("<<", word, const(16), "int32"), Binary("&", word, const(-(1 << 16)), "int32")
    return reinterpret("float32", lower), reinterpret("float32", upper)


def meaning() -> Reduction:
    """The meaning of a dot product of words: `out[] = acc`, where `for k in 2: acc += a[k] * b[k]`, of buffers of bfloat16."""
    return dot_meaning(NUMBERS, DTYPE, DTYPE, "float32")
