"""Results of the branches of an `if` or a `match`, behind the `let`s that the branches begin with."""

from __future__ import annotations

from collections.abc import Callable

from .expr import Expr, If, Let, Match, children, rebuild
from .walk import let_chain


def branch_results(e: If | Match) -> list[Expr]:
    """The expression that each branch ends with."""
    _, *branches = children(e)
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

    chosen_by, *branches = children(e)
    return rebuild(e, [chosen_by, *map(changed, branches)])
