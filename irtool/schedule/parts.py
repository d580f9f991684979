"""A reduction in parts, each of which first fills a small buffer and then reads it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..tir.stmt import PARALLEL, SERIAL, Allocate, Buffer, For, Stmt, rewrite_stmt, seq
from .forms import Loop, Map, Reduction

NEAREST = 1 << 15
"""Bytes of a buffer that is kept on the stack."""

_PARALLEL_WORK = 1 << 18


@dataclass(frozen=True)
class Part:
    """Some of the results: the loops around, what fills the buffer, and the reduction that reads it."""

    around: tuple[Loop, ...]
    fill: tuple[Map | Reduction, ...]
    reader: Reduction
    buffer: Buffer

    @property
    def is_near(self) -> bool:
        """True if every step of the loops around has a buffer of its own, on the stack."""
        return self.buffer.scope == "local"

    def assemble(self, stages: Sequence[Stmt], work: int) -> Stmt:
        """The whole nest, of what fills the buffer and the reader, scheduled."""
        body = seq(list(stages))
        if self.is_near:
            body = Allocate(self.buffer, rewrite_stmt(body, _serial) if self.around else body)
        for n, (v, extent) in reversed(list(enumerate(self.around))):
            kind = PARALLEL if n == 0 and self.is_near and work >= _PARALLEL_WORK else SERIAL
            body = For(v, extent, body, kind)
        return body


def _serial(s: Stmt) -> Stmt:
    return For(s.var, s.extent, s.body) if isinstance(s, For) and s.kind == PARALLEL else s


def reuse(r: Reduction, parts: list[Part]) -> float:
    """How often an element that is filled is read."""
    filled = 0
    for p in parts:
        times = math.prod(n for _, n in p.around)
        filled += times * sum(math.prod(n for _, n in form.loops) for form in p.fill)
    return r.work / max(1, filled)
