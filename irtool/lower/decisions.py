"""Patterns as decisions: the clause that fits a value follows from one tag after the other, none of which is looked at twice.

A clause is the list of the tags that it needs. The first need of the first clause is decided; for each tag the clauses are left that may still
fit (Maranget, Compiling pattern matching to good decision trees, 2008). What is left may be the same after different tags: then it is one decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..tir.region import Decision


@dataclass(frozen=True)
class Need:
    """The tag, one of `count`, that the object at a place must have for a clause to fit: an input, and a path of offsets from it."""

    root: int
    path: tuple[int, ...]
    tag: int
    count: int

    @property
    def place(self) -> tuple[int, tuple[int, ...]]:
        return self.root, self.path


Clause = tuple[int, tuple[Need, ...]]
"""Its number, and what it needs beyond what is decided."""

_MOST = 4
"""Decisions for each need, from which on clauses are tried one after the other: nested patterns may have very many."""


def decide(clauses: Sequence[Sequence[Need]], failure: int) -> tuple[Decision, ...]:
    """The decisions that lead to the number of the first clause that fits, or to `failure`; none if there is nothing to decide."""
    all_clauses = tuple((n, tuple(needs)) for n, needs in enumerate(clauses))
    builder = _Builder(all_clauses, failure, _MOST * (1 + sum(map(len, clauses))))
    builder.number(all_clauses)
    return builder.build()


class _Builder:
    """Decisions among sets of clauses that may still fit: each set gets a number when it is met."""

    def __init__(self, clauses: tuple[Clause, ...], failure: int, most: int) -> None:
        self.clauses = clauses
        self.failure = failure
        self.most = most
        self.numbers: dict[tuple[Clause, ...], int] = {}
        self.left: list[tuple[Clause, ...]] = []

    def number(self, clauses: tuple[Clause, ...]) -> int:
        """The number of the decision among these clauses, or `-1 - n` for the answer n."""
        if not clauses or not clauses[0][1]:
            return -1 - (clauses[0][0] if clauses else self.failure)
        for n, (_, needs) in enumerate(clauses):
            if not needs:  # nothing behind it is tried
                clauses = clauses[: n + 1]
                break
        known = self.numbers.get(clauses)
        if known is None:
            known = self.numbers[clauses] = len(self.left)
            self.left.append(clauses)
        return known

    def build(self) -> tuple[Decision, ...]:
        decisions: list[Decision] = []
        for clauses in self.left:  # the list grows
            need = clauses[0][1][0]
            if len(self.left) > self.most:
                # The clauses behind the first are tried with all that they need, so that what is left is seldom new.
                n, needs = clauses[0]
                behind = self.clauses[n + 1 :]
                cases = [(need.tag, self.number(((n, needs[1:]), *behind)))]
                other = self.number(behind)
            else:
                tags = dict.fromkeys(x.tag for _, needs in clauses for x in needs if x.place == need.place)
                cases = [(tag, self.number(_with_tag(clauses, need, tag))) for tag in sorted(tags)]
                # All tags have cases: the last one needs no comparison.
                other = cases.pop()[1] if len(tags) == need.count else self.number(_with_tag(clauses, need, None))
            decisions.append(Decision(need.root, need.path, tuple(cases), other))
        return tuple(decisions)


def _with_tag(clauses: Sequence[Clause], need: Need, tag: int | None) -> tuple[Clause, ...]:
    """The clauses that may fit a value with the tag at a place (None: with one that no clause needs), each with its other needs."""
    result = []
    for n, needs in clauses:
        here = [x for x in needs if x.place == need.place]
        if all(x.tag == tag for x in here):
            result.append((n, tuple(x for x in needs if x.place != need.place)))
    return tuple(result)
