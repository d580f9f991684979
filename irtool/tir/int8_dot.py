"""Words of four 8-bit numbers, and sums of products of them, as dot-product instructions compute them.

    word = pack4(x0, x1, x2, x3)       an int32 whose lowest byte is x0
    dot4_u8s8(a, b)                    sum of a's bytes, as uint8, times b's, as int8; an int32

`dot4` is named after LLVM's and HLSL's functions (`dot4add_u8packed`). Its meaning is the loop of `meaning`, by which the schedule
finds what can be computed so, and by which it is tested.

Words of eight, `pack8` and `dot8_u8s8`, are int64: the rows of the matrices that instructions for products of matrices take.
"""

from __future__ import annotations

from collections.abc import Sequence

from .build import cast, const
from .dot_meaning import dot_meaning
from .forms import Reduction
from .nodes import Binary, Call, Expr, Var
from .stmt import Buffer, Scope, Store

STEPS = 4
"""Numbers in a word."""

LONG = 8
"""Numbers in a long word."""

ROWS = 2
"""Rows, and columns, of long words that an instruction for products of matrices takes."""

TILE = 16
"""Rows of a matrix tile, and words of one of them."""

LARGEST = 255
"""The largest magnitude of a number of 8 bits."""

LOW_BITS = 0x0F0F0F0F
"""The low 4 bits of the bytes of a word."""

PACK = "pack4"
PACK_LONG = "pack8"

MOVED = 0x80808080 - (1 << 32)
"""What makes, by an exclusive or, a word of uint8 numbers of one of int8 numbers, each larger by 128, and the other way round."""

_SIGNS = {("uint8", "int8"): "u8s8", ("int8", "int8"): "s8s8", ("uint8", "uint8"): "u8u8"}

NARROW = f"dot{STEPS}_u8s7"
"""`dot4_u8s8` of a second operand whose first two numbers, and last two, are such that sums of two products fit into 16 bits: positive ones
add up to 128 at most, and so do negative ones; or of a first operand of at most 15. Constant weights may be known to be so, and those of 4 bits are."""

DOTS = {**{f"dot{STEPS}_{name}": pair for pair, name in _SIGNS.items()}, NARROW: ("uint8", "int8")}
"""The dtypes of the operands' numbers, by the function's name."""

LONG_DOTS = {f"dot{LONG}_{name}": pair for pair, name in _SIGNS.items()}
"""The same of long words."""

MATRICES = {f"mmla_{name}": pair for pair, name in _SIGNS.items()}
"""The same of products of matrices, whose rows are long words."""

ALL_DOTS = {**DOTS, **LONG_DOTS}
PACKS = {PACK: STEPS, PACK_LONG: LONG}
"""Numbers in a word, by the function that packs one."""


def steps_of(name: str) -> int:
    """The number of products that a dot product adds."""
    return STEPS if name in DOTS else LONG


def word_dtype(steps: int) -> str:
    """The dtype of a word of so many numbers."""
    return f"int{8 * steps}"


def pack(numbers: Sequence[Expr]) -> Expr:
    """Four numbers of one 8-bit dtype in a word, or eight in a long one, the first in its lowest byte."""
    assert len(numbers) in (STEPS, LONG) and all(x.dtype in ("int8", "uint8") for x in numbers)
    return Call(f"pack{len(numbers)}", tuple(numbers), word_dtype(len(numbers)))


def dot(a: Expr, b: Expr, dtypes: tuple[str, str], narrow: bool = False) -> Expr:
    """The sum of the products of two words' numbers, which have these dtypes; `narrow`: signed ones are as `NARROW` has them."""
    if dtypes not in _SIGNS:
        a, b, dtypes = b, a, dtypes[::-1]
    if narrow:
        return Call(NARROW, (a, b), "int32")
    steps = STEPS if a.dtype == word_dtype(STEPS) else LONG
    return Call(f"dot{steps}_{_SIGNS[dtypes]}", (a, b), "int32")


def meaning(name: str) -> Reduction:
    """The meaning of a dot product of words: `out[] = acc`, where `for k in 4: acc += a[k] * b[k]`, of 8-bit buffers (8 for long words)."""
    return dot_meaning(steps_of(name), *ALL_DOTS[name])


def matrix_meaning(name: str) -> Reduction:
    """The meaning of a product of matrices: `out[i, j] = acc`, where `for k in 8: acc += a[i, k] * b[j, k]`, for two rows `i` and two
    columns `j`, each a long word. `name` is that of the dot product of one."""
    first, second = LONG_DOTS[name]
    a, b = Buffer("a", (ROWS, LONG), first, Scope.PARAM), Buffer("b", (ROWS, LONG), second, Scope.PARAM)
    out, acc = Buffer("out", (ROWS, ROWS), "int32", Scope.PARAM), Buffer("acc", (), "int32", Scope.LOCAL)
    i, j, k = Var("i"), Var("j"), Var("k")
    product = Binary("*", cast(a[i, k], "int32"), cast(b[j, k], "int32"), "int32")
    update = Binary("+", acc.element(), product, "int32")
    return Reduction(((i, ROWS), (j, ROWS)), acc, const(0), ((k, LONG),), update, (Store(out, (i, j), acc.element()),))
