"""`if`, `match` and its patterns, references, tuples."""

from __future__ import annotations

from collections.abc import Iterator

from ...diagnostics import Span, nearest
from ...ir import (
    Clause,
    If,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    Type,
    Var,
)
from ..mistakes import UnknownConstructor
from .leaves import plain_words
from .state import State


class Control(State):
    """Builds the other expressions."""

    def if_else(self, v: list, s: int, e: int) -> If:
        return If(v[2], v[4], v[6], Span(self.source, s, e))

    def match(self, v: list, s: int, e: int) -> Match:
        return Match(v[1], tuple(v[3]), v[0] == "match", Span(self.source, s, e))

    def match_nothing(self, v: list, s: int, e: int) -> Match:
        return Match(v[1], (), v[0] == "match", Span(self.source, s, e))

    def ref_create(self, v: list, s: int, e: int) -> RefCreate:
        return RefCreate(v[2], Span(self.source, s, e))

    def ref_read(self, v: list, s: int, e: int) -> RefRead:
        return RefRead(v[2], Span(self.source, s, e))

    def ref_write(self, v: list, s: int, e: int) -> RefWrite:
        return RefWrite(v[2], v[4], Span(self.source, s, e))

    def unit(self, v: list, s: int, e: int) -> Tuple:
        return Tuple((), Span(self.source, s, e))

    def tuple_of_one(self, v: list, s: int, e: int) -> Tuple:
        return Tuple((v[1],), Span(self.source, s, e))

    def tuple_of_more(self, v: list, s: int, e: int) -> Tuple:
        return Tuple((v[1], *v[3]), Span(self.source, s, e))

    def clause(self, v: list, s: int, e: int) -> Clause:
        pattern, bound = v[0]
        if bound > 1:
            self.refuse_repeats("the pattern variable %", _variables(pattern))
        self.leave(bound)
        return Clause(pattern, v[2], Span(self.source, s, e))

    def wildcard(self, v: list, s: int, e: int) -> tuple[Pattern, int]:
        return PatternWildcard(Span(self.source, s, e)), 0

    def pattern_var(self, v: list, s: int, e: int) -> tuple[Pattern, int]:
        return self._bind_pattern(v[0], None, s, e)

    def pattern_var_typed(self, v: list, s: int, e: int) -> tuple[Pattern, int]:
        return self._bind_pattern(v[0], v[2], s, e)

    def _bind_pattern(self, name: str, annotation: Type | None, s: int, e: int) -> tuple[Pattern, int]:
        span = Span(self.source, s, e)
        var = Var(name, annotation, span)
        self.declare(name, var)
        return PatternVar(var, span), 1

    def pattern_constructor(self, v: list, s: int, e: int) -> tuple[Pattern, int]:
        return self._pattern_of(v[0], [], s, e)

    def pattern_constructor_of_variables(self, v: list, s: int, e: int) -> tuple[Pattern, int]:
        name, offset, leading = plain_words(v[0], s)
        parts = []
        for word in leading:
            parts.append(self._bind_pattern(word[1:], None, offset, offset + len(word)))
            offset += len(word) + 2
        return self._pattern_of(name, parts, s, e)

    def pattern_constructor_of(self, v: list, s: int, e: int) -> tuple[Pattern, int]:
        return self._pattern_of(v[0], v[2], s, e)

    def _pattern_of(self, name: str, parts: list, s: int, e: int) -> tuple[Pattern, int]:
        bound = sum(n for _, n in parts)
        constructor = self.constructors.get(name)
        if constructor is None:
            hint = nearest(name, self.constructors) or f"a pattern variable is written %{name}"
            self.error(f"unknown constructor {name}", s, s + len(name), help=hint, code=UnknownConstructor)
            return PatternWildcard(self.span(s, e)), bound
        return PatternConstructor(constructor, tuple(p for p, _ in parts), Span(self.source, s, e)), bound

    def pattern_unit(self, v: list, s: int, e: int) -> tuple[Pattern, int]:
        return PatternTuple((), Span(self.source, s, e)), 0

    def pattern_tuple(self, v: list, s: int, e: int) -> tuple[Pattern, int]:
        return PatternTuple(tuple(p for p, _ in v[1]), Span(self.source, s, e)), sum(n for _, n in v[1])


def _variables(pattern: Pattern) -> Iterator[tuple[str, Span | None]]:
    """The variables of a pattern, from left to right."""
    stack = [pattern]
    while stack:
        p = stack.pop()
        if isinstance(p, PatternVar):
            yield p.var.name, p.span
        elif isinstance(p, PatternConstructor | PatternTuple):
            stack.extend(reversed(p.patterns))
