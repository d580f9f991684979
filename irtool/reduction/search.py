"""The search: edits in steps from large to small, each kept if the case still reproduces the bug.

The algorithm is delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002): of n
changes that may be made together, halves are tried, then quarters, and so on. A step enumerates the changes of one kind;
see `rounds` for their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from .case import Case

Site = TypeVar("Site")
Predicate = Callable[[Case], bool]
Watch = Callable[["Search"], None]
Step = Callable[["Search"], None]


class Search:
    """The best case so far, and the attempts.

    Attributes:
        best: the smallest case that was found interesting.
        groups: the number of groups into which `keep_most` cuts at most.
        step: the name of the step that is under way.
        tried: the number of candidates that were judged.
    """

    def __init__(self, case: Case, is_interesting: Predicate, watch: Watch | None = None) -> None:
        self.best = case
        self.is_interesting = is_interesting
        self.watch = watch
        self.groups = 0
        self.step = ""
        self.tried = 0

    def attempt(self, candidate: Case | None) -> bool:
        """Takes a candidate if it is well typed, smaller than the best and still interesting; says whether it was taken."""
        typed = candidate.typed() if candidate is not None else None
        if typed is None or not typed.size < self.best.size:
            return False
        self.tried += 1
        taken = self.is_interesting(typed)
        if taken:
            self.best = typed
        if self.watch is not None:
            self.watch(self)
        return taken

    def keep_most(self, sites: Sequence[Site], apply: Callable[[Sequence[Site]], Case | None]) -> None:
        """Makes as many of some changes as possible. `apply` makes those it is given, all of them to the same case."""
        accepted: list[Site] = []
        rest = list(sites)
        size = len(rest)
        least = -(-size // self.groups) if self.groups else 1
        while rest and size >= least:
            left: list[Site] = []
            for begin in range(0, len(rest), size):
                group = rest[begin : begin + size]
                if self.attempt(apply(accepted + group)):
                    accepted += group
                else:
                    left += group
            rest = left
            size = min(size - 1, -(-size // 2)) if size > 1 else 0
