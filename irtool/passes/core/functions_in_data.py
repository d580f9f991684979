"""Functions that algebraic data types declare to hold."""

from __future__ import annotations

from collections.abc import Iterator

from ...ir import (
    Constructor,
    Expr,
    Function,
    FuncType,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    Type,
    post_order,
)
from ...ir.types import type_children


def holder_of_functions(f: Function) -> tuple[Constructor, Expr] | None:
    """A constructor that `f` applies or matches and whose declaration says that it holds a function, and where."""
    for e in post_order(f):
        for constructor in constructors_in(e):
            if any(map(_has_function, constructor.inputs)):
                return constructor, e
    return None


def constructors_in(e: Expr) -> Iterator[Constructor]:
    """The constructor that a node is, or those that it matches."""
    if isinstance(e, Constructor):
        yield e
    elif isinstance(e, Match):
        stack: list[Pattern] = [c.pattern for c in e.clauses]
        while stack:
            p = stack.pop()
            if isinstance(p, PatternConstructor):
                yield p.constructor
            if isinstance(p, PatternConstructor | PatternTuple):
                stack.extend(p.patterns)


def _has_function(root: Type) -> bool:
    stack = [root]
    while stack:
        t = stack.pop()
        if isinstance(t, FuncType):
            return True
        stack.extend(type_children(t))
    return False
