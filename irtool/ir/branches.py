"""Results of the branches of an `if` or a `match`, behind the `let`s that the branches begin with."""

from __future__ import annotations

from collections.abc import Callable

from .expr import Expr, If, Let, Match
from .walk import let_chain


def branch_results(e: If | Match) -> list[Expr]:
    """The expression that each branch ends with."""
    branches = (e.true_branch, e.false_branch) if isinstance(e, If) else [c.body for c in e.clauses]
    return [let_chain(b)[1] for b in branches]


def with_branch_results(e: If | Match, change: Callable[[Expr], Expr]) -> If | Match:
    """The same with other results, and without a type where one changes; itself where none does."""

    def changed(branch: Expr) -> Expr:
        lets, result = let_chain(branch)
        new = change(result)
        if new is result:
            return branch
        for let in reversed(lets):
            new = Let(let.var, let.value, new, let.span)
        return new

    if isinstance(e, If):
        branches = changed(e.true_branch), changed(e.false_branch)
        is_same = branches == (e.true_branch, e.false_branch)
        return e if is_same else If(e.cond, *branches, e.span)
    clauses = tuple(c.with_body(changed(c.body)) for c in e.clauses)
    is_same = all(a.body is b.body for a, b in zip(clauses, e.clauses, strict=True))
    return e if is_same else Match(e.data, clauses, e.complete, e.span)
