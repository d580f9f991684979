"""Windows that slide over rows: depthwise convolutions along a contiguous axis.

The rows of a tile read the same elements at other steps of the window:

    for t, k: acc[t] += x[t + k] * w[k]   ⇒   for each row y of x: cached = x[y]; for k: acc[y - k] += cached * w[k]

so that every element is read from memory once for a tile, not once for each row of the window.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

from ...tir.expr import Load, Select, const, post_order, rewrite
from ...tir.simplify import Simplifier
from ...tir.stmt import Allocate, Buffer, Stmt, Store, seq, substitute_stmt
from ...tir.vector_target import USUAL
from ..core.affine import coefficients, loads
from ..core.forms import Loop
from ..cost.machine import WRITTEN_OUT

WINDOW = WRITTEN_OUT // 2
"""The most steps of a loop that is unrolled so that neighbouring results share reads."""


@dataclass(frozen=True)
class Sliding:
    """A loop over a window along which the rows of a tile read the same elements: row `t` at step `k` reads the element of the
    operand `read` at `row * t + step * k`."""

    loop: Loop
    read: Load
    row: int
    step: int

    def shared(self, rows: Loop) -> dict[int, list[tuple[int, int]]]:
        """The rows and steps that read each element, by the element's place, in order."""
        steps_of: dict[int, list[tuple[int, int]]] = {}
        for t, k in product(range(rows[1]), range(self.loop[1])):
            steps_of.setdefault(self.row * t + self.step * k, []).append((t, k))
        return dict(sorted(steps_of.items()))

    def saved(self, rows: Loop) -> int:
        """The number of reads that the rows share."""
        return rows[1] * self.loop[1] - len(self.shared(rows))

    def columns(self, rows: Loop, inner: Sequence[Loop], simplify: Simplifier) -> list[Loop]:
        """Other loops over the window that should be unrolled: the element's place is no sum of their steps."""
        place = self.read.source.offset(self.read.indices)
        columns = [(k, m) for k, m in inner if m > 1 and coefficients(simplify, place, (k,))[0] is None]
        updates = rows[1] * self.loop[1] * math.prod(m for _, m in columns)
        return columns if updates <= 4 * USUAL.unrolled_updates else []

    def written(self, update: Store, rows: Loop, tile: Callable[[Stmt], Stmt]) -> Stmt:
        """The updates of a tile, place by place. Each place is read once, into a register."""
        cached = Buffer(
            f"{self.read.source.name}_cached", update.buffer.shape[1:], self.read.dtype, update.buffer.scope
        )
        indices = update.indices[1:]
        value = rewrite(update.value, lambda e: Load(cached, indices) if e is self.read else e, {})
        stmts: list[Stmt] = []
        for pairs in self.shared(rows).values():
            steps = [{rows[0]: const(t), self.loop[0]: const(k)} for t, k in sorted(pairs, key=lambda p: p[1])]
            stmts.append(tile(substitute_stmt(Store(cached, indices, self.read), steps[0])))
            stmts += [tile(substitute_stmt(Store(update.buffer, update.indices, value), here)) for here in steps]
        return Allocate(cached, seq(stmts))


def choose_sliding(update: Store, rows: Loop, inner: Sequence[Loop], simplify: Simplifier) -> Sliding | None:
    """The window, of at most `WINDOW` steps, whose reads the tile's rows share most; None if they share none."""
    windows = [find_sliding(update, rows, x, simplify) for x in inner if 1 < x[1] <= WINDOW]
    return max((x for x in windows if x is not None), key=lambda x: x.saved(rows), default=None)


def find_sliding(update: Store, rows: Loop, loop: Loop, simplify: Simplifier) -> Sliding | None:
    """The operand whose reads the tile's rows share most along a loop over a window.

    None if they share no reads, or if a condition decides whether an element may be read.
    """
    if any(isinstance(e, Select) and e.lazy for e in post_order(update.value)):
        return None
    windows = []
    for e in loads(update.value):
        if e.source is not update.buffer and e.dtype == update.buffer.dtype:
            a, b = coefficients(simplify, e.source.offset(e.indices), (rows[0], loop[0]))
            if a and b:
                windows.append(Sliding(loop, e, a, b))
    return max((x for x in windows if x.saved(rows)), key=lambda x: x.saved(rows), default=None)
