"""Whether the clauses of a `match` leave a case out.

The algorithm keeps a list of candidate values, at first the one that could be anything, and holds each against the
clauses in order. A clause that surely fits settles the candidate; one that might fit splits it, where the clause looks
deeper than the candidate says, into one candidate per constructor; a candidate that no clause takes is a case left out.
"""

from __future__ import annotations

from collections.abc import Generator
from enum import Enum
from typing import Any

from ..ir import Match, Module, Pattern, PatternConstructor, PatternTuple, PatternVar, PatternWildcard
from ..trampoline import trampoline

_LIMIT = 20_000
"""Candidates looked at before giving up: their number can double with every clause."""

_ANYTHING = PatternWildcard()


class Fit(Enum):
    """How a clause's pattern and a candidate go together."""

    YES = 0
    NO = 1
    DEPENDS = 2


def unmatched_cases(match: Match, module: Module, limit: int = _LIMIT) -> list[Pattern]:
    """Patterns of values that no clause of `match` takes; empty if it is exhaustive."""
    candidates: list[Pattern] = [_ANYTHING]
    missed: list[Pattern] = []
    looked_at = 0
    while candidates and looked_at < limit:
        looked_at += 1
        candidate = candidates.pop()
        for clause in match.clauses:
            fit = trampoline(_fit(clause.pattern, candidate))
            if fit is Fit.NO:
                continue
            if fit is Fit.DEPENDS:
                candidates.extend(trampoline(_split(clause.pattern, candidate, module)) or ())
            break
        else:
            missed.append(candidate)
    return missed


def show_pattern(pattern: Pattern) -> str:
    """A pattern as it stands in text."""
    return trampoline(_show(pattern))


def _fit(pattern: Pattern, candidate: Pattern) -> Generator[Any, Any, Fit]:
    if isinstance(pattern, PatternWildcard | PatternVar):
        return Fit.YES
    if not isinstance(candidate, PatternConstructor | PatternTuple):
        return Fit.DEPENDS
    if isinstance(pattern, PatternConstructor):
        if not isinstance(candidate, PatternConstructor) or not _same(pattern, candidate):
            return Fit.NO
    verdict = Fit.YES
    for p, c in zip(pattern.patterns, candidate.patterns, strict=False):  # type: ignore[attr-defined]
        fit = yield _fit(p, c)
        if fit is Fit.NO:
            return fit
        if fit is Fit.DEPENDS:
            verdict = fit
    return verdict


def _same(a: PatternConstructor, b: PatternConstructor) -> bool:
    return a.constructor.name == b.constructor.name and a.constructor.belong_to == b.constructor.belong_to


def _split(pattern: Pattern, candidate: Pattern, module: Module) -> Generator[Any, Any, list[Pattern] | None]:
    """The candidate, made more specific where the pattern first looks deeper than it; None if it looks nowhere deeper.

    One place at a time: to split every place at once would give a product of their cases.
    """
    if isinstance(pattern, PatternWildcard | PatternVar):
        return None
    assert isinstance(pattern, PatternConstructor | PatternTuple)
    if isinstance(candidate, PatternWildcard):
        if isinstance(pattern, PatternTuple):
            return [PatternTuple((_ANYTHING,) * len(pattern.patterns))]
        data = module.type_definitions[pattern.constructor.belong_to.name]
        return [PatternConstructor(c, (_ANYTHING,) * len(c.inputs)) for c in data.constructors]
    assert isinstance(candidate, PatternConstructor | PatternTuple)
    for i, (p, c) in enumerate(zip(pattern.patterns, candidate.patterns, strict=True)):
        cases = yield _split(p, c, module)
        if cases is not None:
            rows = [(*candidate.patterns[:i], case, *candidate.patterns[i + 1 :]) for case in cases]
            if isinstance(candidate, PatternTuple):
                return [PatternTuple(row) for row in rows]
            return [PatternConstructor(candidate.constructor, row) for row in rows]
    return None


def _show(pattern: Pattern) -> Generator[Any, Any, str]:
    if isinstance(pattern, PatternVar):
        return f"%{pattern.var.name}"
    if isinstance(pattern, PatternWildcard):
        return "_"
    assert isinstance(pattern, PatternConstructor | PatternTuple)
    parts = []
    for p in pattern.patterns:
        parts.append((yield _show(p)))
    inside = ", ".join(parts)
    if isinstance(pattern, PatternConstructor):
        return f"{pattern.constructor.name}({inside})" if parts else pattern.constructor.name
    return f"({inside})"
