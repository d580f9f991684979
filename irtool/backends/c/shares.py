"""Loops whose steps the threads of a team share, in C: the parts that a thread takes, and the places in several loops of a step.

    for (part = first; part < parts; part = next)        parts, of which each thread begins with its own
      for (i = part * 4; i < part * 4 + 4; ++i) {        the steps of a part
        y = i / 56; x = i % 56;                          the variables of the loops that are one

Only loops of constant extent are shared (see `team.divide`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from ...schedule.threads import shared_loops
from ...tir.expr import Var
from ...tir.kernel import Kernel
from ...tir.stmt import For, Stmt
from ..interface.names import Identifiers
from .code import CodeBuilder
from .team import WORKER


@dataclass(frozen=True)
class _Extent:
    """The steps of a loop: so many, or what a variable of C says, which is `number` or one less."""

    number: int
    name: str = ""

    @property
    def text(self) -> str:
        """It in C."""
        return self.name or str(self.number)


def _product(extents: Sequence[_Extent]) -> str:
    """A product in C; empty if it is one."""
    number = prod(x.number for x in extents if not x.name)
    factors = [x.name for x in extents if x.name] + ([str(number)] if number > 1 else [])
    return f"({' * '.join(factors)})" if len(factors) > 1 else "".join(factors)


@dataclass(frozen=True)
class SharePrinter:
    """Writes the heads of shared loops. `declare` gives the variable of a loop its name in C."""

    kernel: Kernel
    code: CodeBuilder
    names: Identifiers
    declare: Callable[[Var], str]
    index_type: str

    def open(self, outer: For) -> tuple[int, Stmt]:
        """Begins the loops that are shared from `outer` on: how many blocks are open, and what is inside."""
        loops = shared_loops(outer)
        extents = [s.steps for s in loops]
        total, share = prod(extents), max(1, self.kernel.shares.get(outer.var, 1))
        parts, t = -(-total // share), self.index_type
        part = self.names.fresh("part")
        code = self.code
        code.open(f"for (int {part} = irt_first({WORKER}, {parts}); {part} < {parts}; {part} = irt_next({WORKER}))")
        index = self.names.fresh("i") if len(loops) > 1 else self.declare(outer.var)
        if share == 1:
            code.line(f"const {t} {index} = {part};")
            opened = 1
        else:
            first, last = self.names.fresh("first"), self.names.fresh("last")
            end = f"{part} < {parts - 1} ? {first} + {share} : {total}" if total % share else f"{first} + {share}"
            code.line(f"const {t} {first} = ({t}){part} * {share}, {last} = {end};")
            code.open(f"for ({t} {index} = {first}; {index} < {last}; ++{index})")
            opened = 2
        if len(loops) > 1:
            self._declare_variables(loops, extents, index)
        return opened, loops[-1].body

    def _declare_variables(self, loops: Sequence[For], extents: Sequence[int], index: str) -> None:
        """The variables of loops that are one, in the step of a number. Of a halved loop, threads take the first half of the steps in
        all steps of the others first."""
        halved = self.kernel.halves.get(loops[0].var)
        at = next((n for n, s in enumerate(loops) if s.var is halved), None)
        sizes = [_Extent(n) for n in extents]
        begin = ""
        if at is not None:
            index, begin, sizes[at] = self._half(extents, at, index)
        for n, s in enumerate(loops):
            divisor = _product(sizes[n + 1 :])
            value = f"{index} / {divisor}" if divisor else index
            value += f" % {sizes[n].text}" if n else ""
            self.code.line(f"const {self.index_type} {self.declare(s.var)} = {begin if n == at else ''}{value};")

    def _half(self, extents: Sequence[int], at: int, index: str) -> tuple[str, str, _Extent]:
        """Of a loop in halves: the number of a step within its half, what comes before its first step, and its extent."""
        code, t = self.code, self.index_type
        first, second = -(-extents[at] // 2), extents[at] // 2
        steps = first * (prod(extents) // extents[at])
        late, within = self.names.fresh("late"), self.names.fresh("i")
        code.line(f"const {t} {late} = {index} >= {steps}, {within} = {index} - {late} * {steps};")
        size = _Extent(first)
        if first > second:
            size = _Extent(first, self.names.fresh("half"))
            code.line(f"const {t} {size.name} = {first} - {late};")
        return within, f"{late} * {first} + ", size
