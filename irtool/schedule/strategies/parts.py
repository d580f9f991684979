"""A reduction in parts, each of which first fills a small buffer and then reads it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...tir.stmt import PARALLEL, SERIAL, Allocate, Buffer, For, Stmt, rewrite_stmt, seq
from ..forms import Loop, Map, Reduction
from ..primitives import remark
from ..tile_choice import TileChoice
from .base import Stage, choose_strategy
from .register_tile import tiled


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

    def assemble(self, stages: Sequence[Stmt], is_shared: bool) -> Stmt:
        """The whole nest, of what fills the buffer and the reader, scheduled; `is_shared`: threads share it."""
        body = seq(list(stages))
        if self.is_near:
            body = Allocate(self.buffer, rewrite_stmt(body, _serial) if self.around else body)
        for n, (v, extent) in reversed(list(enumerate(self.around))):
            kind = PARALLEL if n == 0 and self.is_near and is_shared else SERIAL
            body = For(v, extent, body, kind)
        return body


def _serial(s: Stmt) -> Stmt:
    return For(s.var, s.extent, s.body) if isinstance(s, For) and s.kind == PARALLEL else s


def plans(stage: Stage, parts: Sequence[Part]) -> list[TileChoice] | None:
    """The tiles of the reductions in the parts, in order; None if one of them has none."""
    found: list[TileChoice] = []
    for p in parts:
        for form in (*p.fill, p.reader):
            if isinstance(form, Reduction):
                tile = stage.tile_for(form)
                if tile is None:
                    return None
                found.append(tile)
    return found


def explained(parts: Sequence[Part], tiles: Sequence[TileChoice]) -> str:
    """What the first part is like, for people."""
    own = sum(isinstance(f, Reduction) for f in parts[0].fill)
    return f"a buffer of {parts[0].buffer.nbytes} bytes, {tiles[own].reason}"


def schedule_parts(stage: Stage, parts: Sequence[Part], tiles: Sequence[TileChoice]) -> Stmt:
    """The parts one after the other: buffers that are not near are allocated around all of them."""
    waiting = iter(tiles)
    made: list[Stmt] = []
    for p in parts:
        nests: list[Stmt] = []
        remark(f"for {', '.join(v.name for v, _ in p.around) or 'all'}: {p.buffer.name} of {p.buffer.nbytes} bytes")
        for form in (*p.fill, p.reader):
            if isinstance(form, Reduction):
                nests.append(tiled(form, next(waiting), stage.target))
            else:
                inner = stage.inner(form)
                strategy, candidate = choose_strategy(inner)
                nests.append(strategy.apply(inner, candidate))
        made.append(p.assemble(nests, stage.work >= stage.target.parallel_updates))
    body = seq(made)
    for p in parts:
        body = body if p.is_near else Allocate(p.buffer, body)
    return body


def reuse(r: Reduction, parts: list[Part]) -> float:
    """How often an element that is filled is read."""
    filled = 0
    for p in parts:
        times = math.prod(n for _, n in p.around)
        filled += times * sum(math.prod(n for _, n in form.loops) for form in p.fill)
    return r.work / max(1, filled)
