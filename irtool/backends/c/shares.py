"""Loops whose steps the threads of a team share, in C: the parts of a thread, and the indices of several loops for a step.

    for (part = first; part < parts; part = next) {      parts, of which each thread begins with its own
      y = part * 4 / 56; x = part * 4 % 56;              the variables of the loops that are one, in the first step of a part
      for (i = part * 4; i < part * 4 + 4;) {            the steps of a part
        stop = min(56, x + part * 4 + 4 - i);            those of one row
        i += stop - x;
        for (; x < stop; ++x) …
        if (x == 56) { ++y; x = 0; }

Only loops of constant extent are shared (see `selection.teams`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from ...selection.teams import Shared
from ...symbolic_int import SymbolicInt
from ...tir.expr import Var
from ...tir.stmt import Stmt
from ..c_types import enclose
from ..interface.names import Identifiers
from .code import CodeBuilder
from .team import WORKER


@dataclass(frozen=True)
class _Extent:
    """The number of steps of a loop: `number`, or the value of a C variable, which is `number` or one less."""

    number: int
    name: str = ""

    @property
    def text(self) -> str:
        """The number in C."""
        return self.name or _factor(self.number)


def _factor(number: int) -> str:
    """A number, or a formula of lengths in parentheses, for quotients and remainders."""
    return enclose(str(number)) if isinstance(number, SymbolicInt) else str(number)


@dataclass(frozen=True)
class _Place:
    """The variable of a loop, with the beginning and the end of its steps; in a halved loop, these are variables, and the second
    half is from `half` to `last`."""

    name: str
    begin: str
    end: str
    half: int = 0
    last: int = 0


def _product(extents: Sequence[_Extent]) -> str:
    """A product in C; empty for 1."""
    number = prod(x.number for x in extents if not x.name)
    factors = [x.name for x in extents if x.name] + ([_factor(number)] if number != 1 else [])
    return f"({' * '.join(factors)})" if len(factors) > 1 else "".join(factors)


@dataclass(frozen=True)
class SharePrinter:
    """Writes the heads of shared loops. `declare` gives a loop's variable its name in C."""

    code: CodeBuilder
    names: Identifiers
    declare: Callable[[Var], str]
    index_type: str

    def open(self, shared: Shared) -> tuple[list[Callable[[], None]], Stmt]:
        """Begins shared loops. Returns the functions that end them, in reverse order, and the statement inside."""
        loops, share, parts, total = shared.loops, shared.share, shared.parts, shared.steps
        t = self.index_type
        part = self.names.fresh("part")
        code = self.code
        code.open(f"for (int {part} = irt_first({WORKER}, {parts}); {part} < {parts}; {part} = irt_next({WORKER}))")
        ends: list[Callable[[], None]] = [code.close]
        if share == 1:
            self._places(shared, part, constant=True)
            return ends, loops[-1].body
        first, last = self.names.fresh("first"), self.names.fresh("last")
        end = f"{part} < {parts - 1} ? {first} + {share} : {total}" if total % share else f"{first} + {share}"
        code.line(f"const {t} {first} = ({t}){part} * {share}, {last} = {end};")
        if len(loops) > 1:
            ends += self._runs(self._places(shared, first, constant=False), first, last)
            return ends, loops[-1].body
        index = self.declare(loops[0].var)
        code.open(f"for ({t} {index} = {first}; {index} < {last}; ++{index})")
        return [*ends, code.close], loops[-1].body

    def _runs(self, indices: Sequence[_Place], first: str, last: str) -> list[Callable[[], None]]:
        """Begins a loop over the steps of a part, and one over consecutive steps of the innermost loop."""
        code, t, inner = self.code, self.index_type, indices[-1]
        index, stop = self.names.fresh("i"), self.names.fresh("stop")
        code.open(f"for ({t} {index} = {first}; {index} < {last};)")
        left = f"{last} - {index}"
        code.line(f"const {t} {stop} = {inner.end} - {inner.name} < {left} ? {inner.end} : {inner.name} + ({left});")
        code.line(f"{index} += {stop} - {inner.name};")
        code.open(f"for (; {inner.name} < {stop}; ++{inner.name})")
        return [code.close, partial(self._carry, indices), code.close]

    def _places(self, shared: Shared, index: str, constant: bool) -> list[_Place]:
        """Declares the variables of fused loops for the step of a number. In a halved loop, threads take the first half of its
        steps, in all steps of the other loops, first."""
        loops, extents = shared.loops, [s.steps for s in shared.loops]
        halved = None if shared.halved is None else loops.index(shared.halved)
        sizes = [_Extent(n) for n in extents]
        late, half, begin, qualifier = "", 0, "", "const " if constant else ""
        if halved is not None:
            late, index, sizes[halved] = self._half(extents, halved, index)
            half = sizes[halved].number
            begin = f"{late} * {half} + "
        indices: list[_Place] = []
        for n, s in enumerate(loops):
            divisor = _product(sizes[n + 1 :])
            value = f"{index} / {divisor}" if divisor else index
            value += f" % {sizes[n].text}" if n else ""
            indices.append(_Place(self.declare(s.var), "0", str(extents[n])))
            self.code.line(f"{qualifier}{self.index_type} {indices[n].name} = {begin if n == halved else ''}{value};")
        if halved is not None and not constant:
            place = replace(
                indices[halved],
                begin=self.names.fresh("begin"),
                end=self.names.fresh("end"),
                half=half,
                last=extents[halved],
            )
            self.code.line(
                f"{self.index_type} {place.begin} = {late} * {half}, {place.end} = {late} ? {extents[halved]} : {half};"
            )
            indices[halved] = place
        return indices

    def _half(self, extents: Sequence[int], halved: int, index: str) -> tuple[str, str, _Extent]:
        """For a halved loop: the condition that a step is in the second half, its number within its half, and the number of steps
        of that half."""
        code, t = self.code, self.index_type
        first, second = -(-extents[halved] // 2), extents[halved] // 2
        steps = first * (prod(extents) // extents[halved])
        late, within = self.names.fresh("late"), self.names.fresh("i")
        code.line(f"const {t} {late} = {index} >= {steps}, {within} = {index} - {late} * {steps};")
        size = _Extent(first)
        if first != second:
            size = _Extent(first, self.names.fresh("half"))
            rest = f"{late} ? {second} : {first}" if isinstance(first, SymbolicInt) else f"{first} - {late}"
            code.line(f"const {t} {size.name} = {rest};")
        return late, within, size

    def _carry(self, indices: Sequence[_Place]) -> None:
        """Advances from the last step of the innermost loop to the first one of its next run."""
        code = self.code
        code.open(f"if ({indices[-1].name} == {indices[-1].end})")
        for p in reversed(indices[1:-1]):
            code.open(f"if (++{p.name} == {p.end})")
        halved = next((p for p in indices if p.half), None)
        if halved is None:
            code.line(f"++{indices[0].name};")
        else:
            code.open(f"if (++{indices[0].name} == {indices[0].end})")
            code.line(f"{indices[0].name} = 0;")
            code.line(f"{halved.begin} = {halved.half};")
            code.line(f"{halved.end} = {halved.last};")
            code.close()
        for p in indices[1:]:
            code.line(f"{p.name} = {p.begin};")
            code.close()
