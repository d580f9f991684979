"""Algebraic data types: their definitions, and the patterns that `match` takes them apart with."""

from __future__ import annotations

from collections.abc import Iterator

from ..diagnostics import Span
from .expr import Clause as Clause
from .expr import Constructor, Pattern, Var, node
from .types import GlobalTypeVar, TypeVar


@node
class TypeData:
    """`type header[type_vars] { constructors }`. `extern type` has no constructors and `extern` set."""

    header: GlobalTypeVar
    type_vars: tuple[TypeVar, ...]
    constructors: tuple[Constructor, ...]
    extern: bool = False
    span: Span | None = None


@node
class PatternWildcard(Pattern):
    """`_`."""

    span: Span | None = None


@node
class PatternVar(Pattern):
    """`%x`: matches anything and binds it."""

    var: Var
    span: Span | None = None


@node
class PatternConstructor(Pattern):
    """`Cons(p, q)`."""

    constructor: Constructor
    patterns: tuple[Pattern, ...]
    span: Span | None = None


@node
class PatternTuple(Pattern):
    """`(p, q)`."""

    patterns: tuple[Pattern, ...]
    span: Span | None = None


def patterns_in(pattern: Pattern) -> Iterator[Pattern]:
    """A pattern and all patterns inside it, left to right."""
    stack = [pattern]
    while stack:
        p = stack.pop()
        yield p
        if isinstance(p, PatternConstructor | PatternTuple):
            stack.extend(reversed(p.patterns))


def bound_vars(pattern: Pattern) -> Iterator[Var]:
    """The variables that a pattern binds, left to right."""
    return (p.var for p in patterns_in(pattern) if isinstance(p, PatternVar))
