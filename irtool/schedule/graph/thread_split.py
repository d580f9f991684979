"""The order in which threads take the steps of shared loops, so that each reads its own results.

    parallel for o in 4: parallel for y in 56: out[o, y] += data[c, y] * w[o, c]
    thread 1: o 0 and 1, all y; thread 2: o 2 and 3, all y        ⇒      thread 1: y 0 to 27, all o; thread 2: y 28 to 55, all o

Threads take the steps in order, each from its own starting point. With the outermost loop first, each of two threads computes
half of the channels and reads all of the data, half of which the other one wrote. With the first half of the rows first, then the
others, each reads the rows that it wrote, and all of the weights. Between cores, a byte that the other one wrote takes longer
than a byte of weights, and much longer without a common cache. Among several loops that can be halved, the best is the one along
which the operands were written (`owners`).

The loops stay as they are: iterations of shared loops are independent, and the runtime that counts them chooses the order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from ...symbolic_int import bound
from ...tir.expr import Const, Expr, Load, Var, const, post_order, rewrite, variables
from ...tir.simplify import Simplifier
from ...tir.stmt import Buffer, For, Let, Prefetch, Scope, Stmt, Store, expressions, pre_order
from ...tir.vector_target import VectorTarget
from ..core.data_affinity import ALONE, is_same
from ..core.forms import simplifier
from ..cost.machine import HANDED_BYTE, SHARED_CONSTANT_BYTE, STEP_STORES
from .threads import all_shared_loops, count_stores, loop_to_share

_OWN = (Scope.LOCAL, Scope.REGISTER)
"""Scopes of memory private to a thread."""


@dataclass
class Halves:
    """The split of a kernel's loops between two threads, nest by nest.

    Attributes:
        constants: buffers that no kernel writes.
        target: the processor.
        begin: where the second thread's shares begin in the operands, for each call of the kernel (see `owners`).
        loops: the loop to halve, by the variable of the outermost loop fused with it.
        deeper: variables of parallel loops whose inner serial loop is to be halved, and has to become parallel.
        written: where the second thread's shares begin in the results of the nests so far.
    """

    constants: Set[Buffer]
    target: VectorTarget
    begin: Mapping[Buffer, Sequence[int]] = field(default_factory=dict)
    loops: dict[Var, Var] = field(default_factory=dict)
    deeper: set[Var] = field(default_factory=set)
    written: dict[Buffer, int] = field(default_factory=dict)
    _stores: dict[Buffer, int] = field(default_factory=dict)

    def take(self, root: Stmt) -> None:
        """Chooses the loops to halve in the next nest."""
        simplify = simplifier(root)
        for loops in all_shared_loops(root):
            inside = loop_to_share(loops[-1], simplify)
            deep = inside is not None and count_stores(inside.body) >= STEP_STORES
            self._take(loops, [*loops, inside] if inside is not None and deep else loops)

    def _take(self, loops: Sequence[For], candidates: Sequence[For]) -> None:
        if not all(isinstance(s.extent, Const) and s.steps != 0 for s in loops):
            return
        natural = next((n for n, s in enumerate(loops) if s.steps != 1), 0)
        positions = _Places(candidates)
        best = natural
        if any(s.steps != 1 for s in candidates[natural + 1 :]):
            costs = [self._cost(s, positions) if s.steps != 1 else math.inf for s in candidates]
            best = min(range(natural, len(candidates)), key=costs.__getitem__)
        if best != natural:
            self.loops[loops[0].var] = candidates[best].var
        if best == len(loops):
            self.deeper.add(loops[-1].var)
        stores = count_stores(loops[0])
        for b in positions.written:
            if stores > self._stores.get(b, 0):
                self._stores[b], self.written[b] = stores, positions.begin(b, True, candidates[best]) or ALONE

    def _cost(self, loop: For, positions: _Places) -> float:
        """The extra cycles of each of two threads for operands that both read, or that the other one wrote, if this loop is
        halved."""
        cost, again = 0.0, 0
        for b in positions.read:
            if b in self.constants:
                if not positions.depends(b, loop):
                    cost += bound(b.nbytes) * SHARED_CONSTANT_BYTE
                    again += bound(b.nbytes)
                continue
            begin = positions.begin(b, False, loop)
            if begin is None:
                cost += bound(b.nbytes) * HANDED_BYTE
                continue
            before = (self.written[b],) if b in self.written else self.begin.get(b, ())
            if before:
                cost += bound(b.nbytes) * HANDED_BYTE / 2 * sum(not is_same(begin, x) for x in before) / len(before)
        return cost if again <= self.target.streamed_bytes else math.inf


class _Places:
    """The offsets at which fused parallel loops read and write each buffer."""

    def __init__(self, loops: Sequence[For]) -> None:
        self._lets: list[Let] = []
        self._accesses: dict[tuple[Buffer, bool], dict[Expr, None]] = {}
        self._variables: dict[Expr, frozenset[Var]] = {s.var: frozenset([s.var]) for s in loops}
        for s in pre_order(loops[0]):
            if isinstance(s, Let):
                self._lets.append(s)
                self._variables[s.var] = self._of(s.value)
            if isinstance(s, Store) and s.buffer.scope not in _OWN:
                self._accesses.setdefault((s.buffer, True), {})[s.buffer.offset(s.indices)] = None
            for e in post_order(*expressions(s)) if not isinstance(s, Prefetch) else ():
                if isinstance(e, Load) and isinstance(e.source, Buffer) and e.source.scope not in _OWN:
                    self._accesses.setdefault((e.source, False), {})[e.source.offset(e.indices)] = None

    @property
    def read(self) -> list[Buffer]:
        return [b for b, written in self._accesses if not written]

    @property
    def written(self) -> list[Buffer]:
        return [b for b, written in self._accesses if written]

    def depends(self, b: Buffer, loop: For) -> bool:
        """True if each step of the loop reads other elements of the buffer."""
        return any(loop.var in self._of(p) for p in self._accesses[b, False])

    def begin(self, b: Buffer, written: bool, loop: For) -> int | None:
        """The distance, in bytes, between the halves of the loop's steps in a buffer; None if it is zero."""
        steps = bound(loop.steps)
        half = -(-steps // 2)
        near = min(half // 2, steps - 1 - half)  # steps around the half: offsets at the ends may be clipped
        first, last = (half - near, half + near) if near else (0, half)
        for place in self._accesses[b, written]:
            if loop.var in self._of(place):
                distance = self._at(place, loop.var, last) - self._at(place, loop.var, first)
                if distance:
                    return abs(distance) * half // (last - first) * bound(b.nbytes) // bound(b.size)
        return None

    def _of(self, e: Expr) -> frozenset[Var]:
        """The variables of the loops that an expression depends on."""
        return frozenset().union(*(self._variables.get(x, frozenset()) for x in variables(e)))

    def _at(self, place: Expr, var: Var, step: int) -> int:
        """The offset in a step of one loop and the first step of all others, with 0 for values that are read from memory."""
        simplify = Simplifier()
        values: dict[Var, Expr] = {var: const(step, var.dtype)}

        def value(e: Expr) -> Expr:
            number = simplify(rewrite(e, lambda x: _step_of(x, values)))
            return number if isinstance(number, Const) else const(0, e.dtype)

        for let in self._lets:
            values[let.var] = value(let.value)
        position = value(place)
        assert isinstance(position, Const)
        return bound(position.int_value)


def _step_of(e: Expr, values: Mapping[Var, Expr]) -> Expr:
    if isinstance(e, Var):
        return values.get(e, const(0, e.dtype))
    return const(0, e.dtype) if isinstance(e, Load) else e
