"""Exhaustiveness of `match`: the cases that its clauses leave out.

The algorithm keeps candidate values, at first the one that could be anything, and holds each against the clauses in order.
A clause that surely fits settles the candidate; one that might fit splits it, where the clause looks deeper than the
candidate says, into one candidate per constructor; a candidate that no clause takes is a case left out.

A candidate is a tree of places. Splitting goes on from the place that was split: what the clause has left to ask is a linked
list, so a pattern nested n deep takes n steps and not n walks from the root.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from heapq import merge
from typing import Any

from ..ir import (
    Constructor,
    Match,
    Module,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
)
from ..trampoline import trampoline
from .covering import covers

_LIMIT = 20_000
"""Candidates looked at before giving up: their number can double with every clause."""

_ANYTHING = PatternWildcard()


class _Place:
    """A place in a candidate: `parts` is None if it may hold anything; `head` is None for a tuple."""

    __slots__ = ("head", "parts")

    def __init__(self) -> None:
        self.head: Constructor | None = None
        self.parts: tuple[_Place, ...] | None = None


_Questions = tuple[Any, _Place, Any] | None
"""What a clause looks at that the candidate leaves open, in order: a pattern, its place, and the rest."""


def unmatched_cases(match: Match, module: Module, limit: int = _LIMIT, most: int | None = None) -> list[Pattern]:
    """Patterns of values that no clause of `match` takes, the first `most` of them; empty if it is exhaustive."""
    patterns = [c.pattern for c in match.clauses]
    if covers(patterns, module, limit):
        return []
    clauses = _Clauses(patterns)
    root = _Place()
    missed: list[Pattern] = []
    looked_at = 1
    splits = _held_against(clauses, 0, root, missed, module)
    while splits and looked_at < limit and (most is None or len(missed) < most):
        place, case, clause, questions = splits.pop()
        if case is None:
            place.parts = None
            continue
        looked_at += 1
        splits.append((place, None, 0, None))  # once all below it is settled
        place.head, parts = case
        place.parts = tuple(_Place() for _ in range(parts))
        pattern, _, rest = questions
        if _has_head(pattern, place.head):
            left = _prepend(zip(pattern.patterns, place.parts, strict=False), rest)
            if left is not None:
                splits += _cases(left, clause, module)
        else:
            splits += _held_against(clauses, clause + 1, root, missed, module)
    return missed


class _Clauses:
    """The patterns of a `match`, and which of them may fit a value that a constructor made."""

    def __init__(self, patterns: list[Pattern]) -> None:
        self.patterns = patterns
        self._open: list[int] = []
        self._of: dict[str, list[int]] = {}
        for i, p in enumerate(patterns):
            if isinstance(p, PatternConstructor):
                self._of.setdefault(p.constructor.name, []).append(i)
            else:
                self._open.append(i)

    def after(self, first: int, head: Constructor | None) -> Iterator[int]:
        """The clauses from `first` on, those left out that are for another constructor than `head`."""
        if head is None:
            yield from range(first, len(self.patterns))
            return
        for clause in merge(self._of.get(head.name, ()), self._open):
            if clause >= first:
                yield clause


def _held_against(clauses: _Clauses, first: int, root: _Place, missed: list[Pattern], module: Module) -> list[Any]:
    """Holds the candidate against the clauses from `first` on; the candidates into which one splits it, if one does."""
    for i in clauses.after(first, root.head):
        fits, questions = _fit(clauses.patterns[i], root)
        if fits:
            return _cases(questions, i, module) if questions is not None else []
    missed.append(trampoline(_candidate(root)))
    return []


def _cases(questions: Any, clause: int, module: Module) -> list[Any]:
    """The candidate with the first place asked for made more specific, in each way there is.

    One place at a time: to split every place at once would give a product of their cases.
    """
    pattern, place, _ = questions
    if isinstance(pattern, PatternTuple):
        return [(place, (None, len(pattern.patterns)), clause, questions)]
    data = module.type_definitions[pattern.constructor.belong_to.name]
    return [(place, (c, len(c.inputs)), clause, questions) for c in data.constructors]


def _fit(pattern: Pattern, root: _Place) -> tuple[bool, _Questions]:
    """True if a clause's pattern may fit the candidate, and the open questions of that."""
    open_: list[tuple[Pattern, _Place]] = []
    stack = [(pattern, root)]
    while stack:
        p, place = stack.pop()
        if isinstance(p, PatternWildcard | PatternVar):
            continue
        if place.parts is None:
            open_.append((p, place))
        elif not _has_head(p, place.head):
            return False, None
        else:
            stack.extend(reversed(list(zip(p.patterns, place.parts, strict=False))))  # type: ignore[attr-defined]  # what is no leaf has patterns inside
    return True, _prepend(iter(open_), None)


def _prepend(asked: Iterator[tuple[Pattern, _Place]], rest: _Questions) -> _Questions:
    for p, place in reversed(list(asked)):
        if not isinstance(p, PatternWildcard | PatternVar):
            rest = (p, place, rest)
    return rest


def _has_head(pattern: Pattern, head: Constructor | None) -> bool:
    if isinstance(pattern, PatternTuple):
        return True  # a tuple has one form
    assert isinstance(pattern, PatternConstructor)
    c = pattern.constructor
    return head is not None and c.name == head.name and c.belong_to == head.belong_to


def _candidate(place: _Place) -> Generator[Any, Any, Pattern]:
    """The pattern of a candidate."""
    if place.parts is None:
        return _ANYTHING
    parts = []
    for p in place.parts:
        parts.append((yield _candidate(p)))
    return PatternTuple(tuple(parts)) if place.head is None else PatternConstructor(place.head, tuple(parts))


def show_pattern(pattern: Pattern) -> str:
    """A pattern as it stands in text."""
    out: list[str] = []
    stack: list[Any] = [pattern]
    while stack:
        p = stack.pop()
        if isinstance(p, str):
            out.append(p)
        elif isinstance(p, PatternVar):
            out.append(f"%{p.var.name}")
        elif isinstance(p, PatternConstructor | PatternTuple):
            name = p.constructor.name if isinstance(p, PatternConstructor) else ""
            if name and not p.patterns:
                out.append(name)
                continue
            stack.append(")")
            for i, q in enumerate(reversed(p.patterns)):
                stack += [", ", q] if i else [q]
            out.append(name + "(")
        else:
            out.append("_")
    return "".join(out)
