"""Words of bytes in vectors, and sums of their products (see `tir.words`), each of which becomes one instruction."""

from __future__ import annotations

from collections.abc import Sequence

from ...tir.expr import Const, Expr
from ...tir.pairs import DOT_PAIR, NUMBERS
from ...tir.simplify import Simplifier
from ...tir.wide_pairs import DOT_WIDE
from ...tir.words import DOTS, STEPS
from .ir import Apply, LoadVector, Value, constant_of


def open_dot(v: Value) -> Apply | None:
    """A dot product that starts at 0 and is used once: another accumulator may take the place of that 0."""
    if not isinstance(v, Apply) or v.named or v.function[0] not in (DOT_PAIR, DOT_WIDE, *DOTS):
        return None
    return v if constant_of(v.args[0]) == 0 else None


def pairs_in_memory(numbers: Sequence[Value]) -> tuple[list[LoadVector], Expr] | None:
    """The reads of two bfloat16 numbers that are widened, where they lie as words do, and where the first begins."""
    reads = [
        a.args[0]
        for a in numbers
        if isinstance(a, Apply) and a.function[0] == "b2f" and not a.named and len(a.args) == 1
    ]
    words = words_in_memory(reads, NUMBERS) if len(reads) == NUMBERS else None
    return ([r for r in reads if isinstance(r, LoadVector)], words[1]) if words is not None else None


def words_in_memory(numbers: Sequence[Value], steps: int = STEPS) -> tuple[LoadVector, Expr] | None:
    """The first of as many reads as a word has numbers, where these are one after the other in memory and so are the lanes' words, and where
    it begins."""
    first, simplify = numbers[0], Simplifier()
    if not isinstance(first, LoadVector):
        return None
    for n, v in enumerate(numbers):
        if not isinstance(v, LoadVector) or v.named or not v.is_whole or v.places or v.stride != steps:
            return None
        behind = simplify(_place(v) - _place(first))
        if v.buffer is not first.buffer or not isinstance(behind, Const) or behind.value != n:
            return None
    return first, simplify(_place(first))


def _place(v: LoadVector) -> Expr:
    return v.base + v.channel.number if v.channel is not None else v.base
