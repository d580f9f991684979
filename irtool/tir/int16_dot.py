"""Words of two 16-bit numbers, and sums of products of them, as `pmaddwd` of x86 computes them (see `int8_dot` for bytes).

    word = pack2_i16(x0, x1)           an int32 whose lower half is x0
    dot2_i16(a, b)                     a0 * b0 + a1 * b1, an int32, modulo 2**32

Numbers of 8 bits, with a sign or without, are widened as they are packed: no sum of two products saturates, as those of `pmaddubsw` do.
"""

from __future__ import annotations

from collections.abc import Sequence

from .dot_meaning import dot_meaning
from .forms import Reduction
from .nodes import Call, Expr

NUMBERS = 2
"""Numbers in a word."""

PACK_WIDE = "pack2_i16"
DOT_WIDE = "dot2_i16"
DTYPE = "int16"
DTYPES = ("int8", "uint8", DTYPE)
"""What numbers may be before they are widened."""


def pack2(numbers: Sequence[Expr]) -> Expr:
    """Two numbers in a word, the first in its lower half."""
    assert len(numbers) == NUMBERS and all(x.dtype in DTYPES for x in numbers)
    return Call(PACK_WIDE, tuple(numbers), "int32")


def dot2(a: Expr, b: Expr) -> Expr:
    """The sum of the products of two words' numbers."""
    return Call(DOT_WIDE, (a, b), "int32")


def meaning() -> Reduction:
    """The meaning of a dot product of words: `out[] = acc`, where `for k in 2: acc += a[k] * b[k]`, of buffers of int16."""
    return dot_meaning(NUMBERS, DTYPE, DTYPE)
