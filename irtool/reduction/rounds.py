"""Rounds of steps: they take turns until none makes the case smaller.

The first rounds try only large groups of changes, so that a large module is small before anybody looks at its single nodes.
"""

from __future__ import annotations

from .case import Case
from .search import Predicate, Search, Watch
from .steps import STEPS

_COARSE = (4, 32)
"""Into how many groups the changes of a kind are cut at most, in the rounds before the last ones."""


def reduce_case(case: Case, is_interesting: Predicate, watch: Watch | None = None) -> Case:
    """The smallest case that the steps lead to from an interesting one. The same input gives the same result."""
    search = Search(case, is_interesting, watch)
    for groups in (*_COARSE, 0):
        search.groups = groups
        before: Case | None = None
        while before is not search.best:
            before = search.best
            for name, step in STEPS:
                search.step = name
                step(search)
    return search.best
