"""Constructors of data types whose arguments get other types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from .adt import Clause, Pattern, PatternConstructor, PatternTuple, TypeData
from .expr import Constructor, Match
from .types import Type


def with_argument_types(
    definitions: Mapping[str, TypeData], change: Callable[[Type], Type]
) -> tuple[dict[str, TypeData], dict[str, Constructor]]:
    """The definitions in which the arguments of constructors have changed types, and the constructors that are new objects, by name."""
    result: dict[str, TypeData] = {}
    changed: dict[str, Constructor] = {}
    for name, d in definitions.items():
        inputs = [tuple(change(t) for t in c.inputs) for c in d.constructors]
        if all(a is b for new, c in zip(inputs, d.constructors, strict=True) for a, b in zip(new, c.inputs)):
            result[name] = d
            continue
        constructors = tuple(
            Constructor(c.name, new, c.belong_to, c.tag, c.span) for new, c in zip(inputs, d.constructors, strict=True)
        )
        result[name] = replace(d, constructors=constructors)
        changed.update({c.name: c for c in constructors})
    return result, changed


def with_constructors(e: Match, constructors: Mapping[str, Constructor]) -> Match:
    """The match whose patterns have these constructors in the place of those of the same names, without a type."""
    clauses = tuple(Clause(_pattern(c.pattern, constructors), c.body, c.span) for c in e.clauses)
    return Match(e.data, clauses, e.complete, e.span)


def _pattern(root: Pattern, constructors: Mapping[str, Constructor]) -> Pattern:
    copies: dict[Pattern, Pattern] = {}
    stack = [(root, False)]
    while stack:
        p, ready = stack.pop()
        if not isinstance(p, PatternConstructor | PatternTuple):
            copies[p] = p
        elif not ready:
            stack.append((p, True))
            stack += [(q, False) for q in p.patterns]
        else:
            parts = tuple(copies[q] for q in p.patterns)
            if isinstance(p, PatternTuple):
                copies[p] = PatternTuple(parts, p.span)
            else:
                copies[p] = PatternConstructor(constructors.get(p.constructor.name, p.constructor), parts, p.span)
    return copies[root]
