"""Dot products of words, one at a time, as C text; see `tir.words`."""

from __future__ import annotations

from ...tir.words import DOTS, STEPS


def dot_of_words(name: str) -> str:
    """The definition of the function of that name."""
    taken = [{"int8": "(int8_t)(uint8_t)", "uint8": "(int32_t)(uint8_t)"}[d] for d in DOTS[name]]

    def number(word: str, n: int) -> str:
        return f"{taken['ab'.index(word)]}((uint32_t){word}{f' >> {8 * n}' if n else ''})"

    products = " +\n         ".join(f"{number('a', n)} * {number('b', n)}" for n in range(STEPS))
    return f"IRT_INLINE int32_t irt_{name}(int32_t a, int32_t b) {{\n  return {products};\n}}"
