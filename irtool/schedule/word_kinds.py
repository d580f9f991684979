"""Kinds of words that sums of products can be made of: four bytes, or two bfloat16 numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..tir import pairs, words
from ..tir.expr import Expr
from ..tir.forms import Reduction


@dataclass(frozen=True)
class WordKind:
    """A kind of words.

    Attributes:
        numbers: how many numbers a word has.
        least: the shortest sum of which words are made: a part of the last word is zeros.
        meanings: what its dot products mean, of which the sum has to be one.
        pack: the word of some expressions.
        dot: the dot product of two words, whose numbers have these dtypes.
        bits: unsigned numbers of as many bits as one in a word has: how numpy sees an array.
    """

    numbers: int
    least: int
    meanings: tuple[Reduction, ...]
    pack: Callable[[Sequence[Expr]], Expr]
    dot: Callable[[Expr, Expr, tuple[str, str]], Expr]
    bits: str

    def pack_data(self, data: Any, axis: int) -> Any:
        """An array as words of neighbours along an axis, filled up with zeros; int32."""
        import numpy as np

        steps, width = self.numbers, 32 // self.numbers
        count = -(-data.shape[axis] // steps)
        missing = count * steps - data.shape[axis]
        data = np.pad(data, [(0, missing if n == axis else 0) for n in range(data.ndim)])
        parts = data.view(self.bits).reshape(*data.shape[:axis], count, steps, *data.shape[axis + 1 :])
        parts = np.moveaxis(parts, axis + 1, 0).astype(np.uint32)
        made = parts[0]
        for n in range(1, steps):
            made = made | parts[n] << np.uint32(width * n)
        return np.ascontiguousarray(made.view(np.int32))


@cache
def word_kinds() -> tuple[WordKind, ...]:
    """All kinds."""
    meanings = tuple(words.meaning(name) for name in words.DOTS)
    return (
        WordKind(words.STEPS, 3, meanings, words.pack4, words.dot4, "uint8"),
        WordKind(pairs.NUMBERS, 2, (pairs.meaning(),), pairs.pack2, lambda a, b, dtypes: pairs.dot2(a, b), "uint16"),
    )
