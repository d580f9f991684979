"""Parts of nodes go: fields of tuples, clauses of matches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ...ir import Expr
from ..case import Case
from ..search import Search
from .replacing import rewritten

N = TypeVar("N", bound=Expr)


def drop_parts(
    search: Search,
    kind: type[N],
    nodes: Sequence[N],
    parts: Callable[[N], tuple[Any, ...]],
    remade: Callable[[N, tuple[Any, ...]], Expr],
) -> None:
    """As many `parts` of `nodes`, which are of a `kind`, go as possible, but of none all; `remade` gives a node its other parts."""
    case = search.best

    def without(chosen: Sequence[tuple[N, int]]) -> Case:
        removed = set(chosen)

        def leave(old: Expr, new: Expr) -> Expr:
            if not isinstance(old, kind) or not isinstance(new, kind):
                return new
            before = parts(new)
            left = tuple(p for n, p in enumerate(before) if (old, n) not in removed)
            return new if len(left) in (0, len(before)) else remade(new, left)

        return rewritten(case, leave)

    search.keep_most([(e, n) for e in nodes for n in range(len(parts(e)))], without)
