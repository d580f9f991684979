"""Kinds of packed words for sums of products: four bytes, eight bytes, two bfloat16 numbers, or two 16-bit integers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ...symbolic_int import holds
from ...tir import bf16_dot, dtypes, int8_dot, int16_dot
from ...tir.expr import Const, Expr, Select, const, if_then_else
from ...tir.forms import Reduction
from ...tir.simplify import Simplifier


@dataclass(frozen=True)
class WordKind:
    """A kind of packed words.

    Attributes:
        numbers: the numbers in a word.
        least: the shortest sum that is packed; zeros fill its last word.
        meanings: its dot products by name, each as the loop nest that a sum has to match.
        pack: the word of some expressions.
        dot: the dot product of two words, whose numbers have these dtypes.
        bits: the unsigned dtype with as many bits as a number in a word, under which numpy views an array.
        dtype: the dtype of a word.
        widened: the dtype to which numbers are widened; empty if words hold them unchanged.
    """

    numbers: int
    least: int
    meanings: Mapping[str, Reduction]
    pack: Callable[[Sequence[Expr]], Expr]
    dot: Callable[[Expr, Expr, tuple[str, str]], Expr]
    bits: str
    dtype: str = "int32"
    widened: str = ""

    def word(self, position: Expr, extent: int, number: Callable[[Expr], Expr], simplify: Simplifier) -> Expr:
        """The word at `position` among those of `extent` numbers, the last of which is padded with zeros. `number` gives the
        number at a place."""
        numbers: list[Expr] = []
        for n in range(self.numbers):
            place = simplify(position * self.numbers + n)
            value = number(place)
            zero = const(0.0 if dtypes.is_float(value.dtype) else 0, value.dtype)
            low, high = simplify.range(place)
            if holds(operator.ge, low, extent):
                value = zero
            elif not holds(operator.lt, high, extent):
                value = if_then_else(place < extent, value, zero)
            numbers.append(simplify(value))
        return self.word_of(numbers)

    def word_of(self, numbers: Sequence[Expr]) -> Expr:
        """The word of some numbers; numbers under the same condition share one condition, and are read together."""
        inside = [e for e in numbers if isinstance(e, Select) and e.lazy]
        others = {e.other.value for e in inside if isinstance(e.other, Const)}
        if len(inside) < len(numbers) or len(others) > 1 or any(e.cond is not inside[0].cond for e in inside):
            return self.pack(numbers)
        same = all(isinstance(e.other, Const) for e in inside)
        if not same or (others != {0} and not self._is_of_integers):
            return self.pack(numbers)
        return if_then_else(inside[0].cond, self.pack([e.then for e in inside]), self._equal(int(others.pop())))

    @property
    def _is_of_integers(self) -> bool:
        return self.bits == "uint8" or bool(self.widened)

    def _equal(self, number: int) -> Const:
        """The word of equal integers, or of zeros."""
        each = dtypes.bits(self.dtype) // 8 // self.numbers
        one = (number & ((1 << 8 * each) - 1)).to_bytes(each, "little")
        whole = int.from_bytes(one * self.numbers, "little", signed=True)
        return const(whole, self.dtype)

    def pack_data(self, data: Any, axis: int, count: int = 0) -> Any:
        """An array as words of neighbours along an axis, padded with zeros, up to `count` words if given."""
        import numpy as np

        word = np.dtype(f"u{self.dtype}").type
        steps, width = self.numbers, dtypes.bits(self.dtype) // self.numbers
        count = count or -(-data.shape[axis] // steps)
        missing = count * steps - data.shape[axis]
        data = data.astype(self.widened) if self.widened else data
        data = np.pad(data, [(0, missing if n == axis else 0) for n in range(data.ndim)])
        parts = data.view(self.bits).reshape(*data.shape[:axis], count, steps, *data.shape[axis + 1 :])
        parts = np.moveaxis(parts, axis + 1, 0).astype(word)
        packed = parts[0]
        for n in range(1, steps):
            packed = packed | parts[n] << word(width * n)
        return np.ascontiguousarray(packed.view(self.dtype))


@cache
def word_kinds() -> tuple[WordKind, ...]:
    """All kinds. The narrow dot product has no meaning of its own: no nest says that weights are narrow."""
    meanings = {name: int8_dot.meaning(name) for name in int8_dot.DOTS if name != int8_dot.NARROW}
    return (
        WordKind(int8_dot.STEPS, 3, meanings, int8_dot.pack, int8_dot.dot, "uint8"),
        pair_kind(),
        long_kind(),
        wide_kind(),
    )


@cache
def long_kind() -> WordKind:
    """Words of eight bytes. From five numbers on, they take as much memory as words of four bytes, and half as many steps of a
    sum."""
    meanings = {name: int8_dot.meaning(name) for name in int8_dot.LONG_DOTS}
    dtype = int8_dot.word_dtype(int8_dot.LONG)
    return WordKind(int8_dot.LONG, int8_dot.STEPS + 1, meanings, int8_dot.pack, int8_dot.dot, "uint8", dtype)


@cache
def pair_kind() -> WordKind:
    """Words of two bfloat16 numbers."""
    meanings = {bf16_dot.DOT_PAIR: bf16_dot.meaning()}
    return WordKind(bf16_dot.NUMBERS, 2, meanings, bf16_dot.pack2, lambda a, b, dtypes: bf16_dot.dot2(a, b), "uint16")


@cache
def wide_kind() -> WordKind:
    """Words of two 16-bit integers, or of two 8-bit ones, which are widened."""
    meanings = {int16_dot.DOT_WIDE: int16_dot.meaning()}
    dot = int16_dot.dot2
    return WordKind(
        int16_dot.NUMBERS, 2, meanings, int16_dot.pack2, lambda a, b, _: dot(a, b), "uint16", widened=int16_dot.DTYPE
    )


def intrinsics() -> dict[str, WordKind]:
    """The kinds by the names of their dot products, as `tensorize` knows them."""
    return {name: kind for kind in word_kinds() for name in kind.meanings}
