"""Coverage of patterns, tried in order: true if they match every value, without a list of the missing ones.

The rows of a matrix are patterns, its columns places in a value. Its first column that some row looks into is split: into the rows
for each constructor that is asked for there, and those that take any other one (Maranget, Warnings for pattern matching,
Journal of Functional Programming 17(3), 2007). So what is asked for costs work, not what there is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge

from ..ir import Module, Pattern, PatternConstructor, PatternTuple, PatternVar, PatternWildcard

_Row = tuple["Pattern | int", "_Row"] | None
"""What a row asks for, from the first place on, as a list: a pattern, or a number of places at which it takes anything. None takes
anything everywhere."""


def covers(patterns: Sequence[Pattern], module: Module, limit: int) -> bool | None:
    """True if some pattern takes each value; None after looking at `limit` rows, whose number can double with each column."""
    matrices: list[list[_Row]] = [[_with_pattern(p, None) for p in patterns]]
    while matrices:
        rows = matrices.pop()
        limit -= len(rows)
        if limit < 0:
            return None
        if not rows:
            return False
        if rows[0] is not None:
            matrices += _split(rows, module)
    return True


def _split(rows: list[_Row], module: Module) -> Iterator[list[_Row]]:
    """Matrices without their first column that together cover a value if and only if this one does."""
    asked: dict[str, tuple[PatternConstructor | PatternTuple, list[tuple[int, _Row]]]] = {}
    anything: list[tuple[int, _Row]] = []
    kind: PatternConstructor | PatternTuple | None = None
    for n, row in enumerate(rows):
        if row is None or isinstance(row[0], int):
            anything.append((n, row))
            continue
        head, rest = row
        assert isinstance(head, PatternConstructor | PatternTuple)
        kind = head
        for p in reversed(head.patterns):
            rest = _with_pattern(p, rest)
        name = head.constructor.name if isinstance(head, PatternConstructor) else ""
        asked.setdefault(name, (head, []))[1].append((n, rest))
    if kind is None:
        arity = min(row[0] for row in rows if row is not None)  # type: ignore[type-var]  # all of them are numbers
        yield [_without(arity, row) for row in rows]  # type: ignore[arg-type]  # none of them is a pair here
        return
    for head, clause_rows in asked.values():
        yield list(_together(clause_rows, anything, len(head.patterns)))
    if isinstance(kind, PatternConstructor):
        data = module.type_definitions[kind.constructor.belong_to.name]
        if len(asked) < len(data.constructors):
            yield [_without(1, row) for _, row in anything]


def _together(asked: list[tuple[int, _Row]], anything: list[tuple[int, _Row]], parts: int) -> Iterator[_Row]:
    """The rows for one constructor, in order, up to one that takes anything."""
    others = ((n, _with_anything(parts, _without(1, row))) for n, row in anything)
    for _, row in merge(asked, others, key=lambda r: r[0]):
        yield row
        if row is None:
            return


def _with_pattern(pattern: Pattern, rest: _Row) -> _Row:
    return _with_anything(1, rest) if isinstance(pattern, PatternVar | PatternWildcard) else (pattern, rest)


def _with_anything(arity: int, rest: _Row) -> _Row:
    if rest is None or not arity:
        return rest
    return (arity + rest[0], rest[1]) if isinstance(rest[0], int) else (arity, rest)


def _without(arity: int, row: _Row) -> _Row:
    """The rest of a row behind a number of places at which it takes anything."""
    if row is None:
        return None
    assert isinstance(row[0], int)
    return (row[0] - arity, row[1]) if row[0] > arity else row[1]
