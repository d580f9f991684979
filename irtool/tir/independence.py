"""Independence of the steps of a loop: they may run in any order, or at once, if no step touches a place that another one writes.

The places that a step touches in a buffer are `c*v + rest`, of which what comes from outside must be the same everywhere. Those of
two steps differ if the rest, over the loops inside, covers less than `c` places, or if it moves in multiples of a number that
`c*v` stays below:

    for v in 8: for k in 4: out[4*v + k]        for v in 8: for k in 4: out[v + 8*k]
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .expr import Const, Expr, Load, Var, post_order
from .regions import accesses
from .simplify import Simplifier
from .stmt import Allocate, Buffer, For, Let, Store, pre_order

Ranges = Mapping[Any, tuple[float, float]]


class LoopAccesses:
    """The places that the body of a loop writes.

    Attributes:
        inside: its statements.
        written: the buffers that it writes and does not allocate itself.
        own: the variables that it binds.
        simplify: knows the ranges of variables, the loop's own among them.
    """

    def __init__(self, loop: For, around: Ranges) -> None:
        self.loop = loop
        self.inside = list(pre_order(loop.body))
        private = {s.buffer for s in self.inside if isinstance(s, Allocate)}
        self.written = list(
            dict.fromkeys(s.buffer for s in self.inside if isinstance(s, Store) and s.buffer not in private)
        )
        self.own: set[Expr] = {s.var for s in self.inside if isinstance(s, For | Let)}
        ranges = {**around, loop.var: _range(loop)}
        ranges.update((s.var, _range(s)) for s in self.inside if isinstance(s, For))
        self.simplify = Simplifier(ranges)

    def places(self, buffer: Buffer) -> list[Expr]:
        """The places of every access to a buffer, from its beginning."""
        return [buffer.offset(indices) for indices in accesses(self.loop.body, buffer)]

    def is_apart(self, buffer: Buffer) -> bool:
        """True if each step of the loop has elements of its own in the buffer."""
        return self._are_apart(self.places(buffer), self.loop.var)

    def _are_apart(self, index_lists: Sequence[Expr], v: Var) -> bool:
        factor: int | None = None
        around: dict[Expr, int] = {}
        low, high = float("inf"), float("-inf")
        stride, first = 0, 0
        for n, place in enumerate(index_lists):
            terms, offset = self.simplify.linear(place)
            outer: dict[Expr, int] = {}
            least = most = float(offset)
            c = terms.get(v, 0)
            for term, k in terms.items():
                if term is v:
                    continue
                parts = set(post_order(term))
                if v in parts or any(isinstance(e, Load) for e in parts):
                    return False
                if self.own.isdisjoint(parts):
                    outer[term] = k
                    continue
                stride = math.gcd(stride, k)
                a, b = self.simplify.range(term)
                least += min(a * k, b * k)
                most += max(a * k, b * k)
            if not c or (factor is not None and (c != factor or outer != around)):
                return False
            factor, around = c, outer
            first = first if n else offset
            stride = math.gcd(stride, offset - first)
            low, high = min(low, least), max(high, most)
        if factor is None:
            return False
        return high - low < abs(factor) or abs(factor) * self.simplify.range(v)[1] < stride


def _range(s: For) -> tuple[float, float]:
    return (0, s.last) if isinstance(s.extent, Const) else (0, float("inf"))


def is_independent(loop: For, around: Ranges) -> bool:
    """True if the steps of a loop surely touch nothing that another one writes; `around` are the ranges of variables."""
    accesses = LoopAccesses(loop, around)
    return all(accesses.is_apart(b) for b in accesses.written)
