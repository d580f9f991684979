"""Branches of `if` take its place."""

from __future__ import annotations

from ...ir import Expr, If
from ..case import nodes_of
from ..search import Search
from .replacing import replaced


def take_then(search: Search) -> None:
    """`if (%c) { a } else { b } ⇒ a`."""
    case = search.best
    branches: dict[Expr, Expr] = {e: e.true_branch for _, e in nodes_of(case.module) if isinstance(e, If)}
    search.keep_most(list(reversed(branches)), lambda chosen: replaced(case, {e: branches[e] for e in chosen}))


def take_else(search: Search) -> None:
    """`if (%c) { a } else { b } ⇒ b`."""
    case = search.best
    branches: dict[Expr, Expr] = {e: e.false_branch for _, e in nodes_of(case.module) if isinstance(e, If)}
    search.keep_most(list(reversed(branches)), lambda chosen: replaced(case, {e: branches[e] for e in chosen}))
