"""Functions of words, of all kinds: those that pack numbers, and those that sum the products of two words.

pack4 pack8 pack2_bf16 pack2_i16       see `int8_dot`, `bf16_dot` and `int16_dot`
dot4_u8s8 … dot8_u8s8 … dot2_bf16 dot2_i16
"""

from __future__ import annotations

from dataclasses import dataclass

from . import bf16_dot, int8_dot, int16_dot


@dataclass(frozen=True)
class WordFunction:
    """A function of words.

    Attributes:
        operands: the number of operands.
        taken: the dtypes that operands may have: one for all.
        result: the dtype of the value.
    """

    operands: int
    taken: tuple[str, ...]
    result: str


PACKS = {
    **{name: WordFunction(n, ("int8", "uint8"), int8_dot.word_dtype(n)) for name, n in int8_dot.PACKS.items()},
    bf16_dot.PACK_PAIR: WordFunction(bf16_dot.NUMBERS, (bf16_dot.DTYPE,), "int32"),
    int16_dot.PACK_WIDE: WordFunction(int16_dot.NUMBERS, int16_dot.DTYPES, "int32"),
}
"""The functions that make a word, by name."""

DOTS = {
    **{name: WordFunction(2, (int8_dot.word_dtype(int8_dot.steps_of(name)),), "int32") for name in int8_dot.ALL_DOTS},
    bf16_dot.DOT_PAIR: WordFunction(2, ("int32",), "float32"),
    int16_dot.DOT_WIDE: WordFunction(2, ("int32",), "int32"),
}
"""The dot products of words, by name. Emitted functions take what they add to as their first argument."""

WORD_FUNCTIONS = {**PACKS, **DOTS}
