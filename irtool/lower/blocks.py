"""The steps of a host function while it is lowered: those of the branches around them, and the facts known there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..ir import Expr
from ..tir.conditions import LengthCondition
from ..tir.program import Branch, CopySlot, Fail, Slot, Step
from .values import Value

Known = tuple[dict[Expr, Value], list[list[tuple[Expr, Value | None]]]]


class Blocks:
    """Steps, known values and temporaries of each block, the innermost branch's last.

    What a branch computes is not known outside of it, and may be put elsewhere only from within.
    """

    def __init__(self) -> None:
        self.steps: list[list[Step]] = [[]]
        self._temporaries: list[set[Slot]] = [set()]
        self._count = 0
        self._requirements: list[set[LengthCondition | Slot]] = [set()]
        self._first = 0
        # The known values, and for each block the values that it replaced.
        self._known: Known = ({}, [[]])

    @property
    def depth(self) -> int:
        """The number of nested blocks here."""
        return len(self.steps)

    def add(self, step: Step) -> None:
        """Appends a step to the innermost block."""
        self.steps[-1].append(step)

    def refuse(self, condition: LengthCondition, code: int, at_once: bool) -> None:
        """Ends the run with an error from here on if the condition holds, unless steps before do so.

        Outside of branches, `at_once` does so before all other steps: nothing is written by then.
        """
        if any(condition in known for known in self._requirements):
            return
        self._requirements[-1].add(condition)
        step = Branch(condition, [Fail([], [], code)], [])
        if at_once and self.depth == 1:
            self.steps[0].insert(self._first, step)
            self._first += 1
        else:
            self.add(step)

    def require(self, condition: Slot, code: int) -> None:
        """Ends the run with an error from here on unless the condition holds."""
        if not any(condition in known for known in self._requirements):
            self._requirements[-1].add(condition)
            self.add(Branch(condition, [], [Fail([], [], code)]))

    def open(self) -> None:
        """Begins a branch's arm."""
        self._requirements.append(set())
        self.steps.append([])
        self._temporaries.append(set())
        self._known[1].append([])

    def close(self) -> list[Step]:
        """Ends the innermost arm; its steps."""
        self._requirements.pop()
        self._temporaries.pop()
        values, learned = self._known
        for e, before in reversed(learned.pop()):
            if before is None:
                del values[e]
            else:
                values[e] = before
        return self.steps.pop()

    def learn(self, e: Expr, value: Value) -> None:
        """Notes the value of an expression, for the innermost block."""
        values, learned = self._known
        learned[-1].append((e, values.get(e)))
        values[e] = value

    def find(self, e: Expr) -> Value | None:
        """The value of an expression, if it is known here."""
        return self._known[0].get(e)

    def know_only(self, values: Mapping[Expr, Value]) -> Known:
        """Begins the body of another function in the same block, with these values alone; returns the state for `restore`."""
        before, self._known = self._known, (dict(values), [[]])
        return before

    def restore(self, known: Known) -> None:
        """Ends the body of another function."""
        self._known = known

    def fresh(self, shape: Any, dtype: str, level: int = -1) -> Slot:
        """A temporary of the innermost block, or of another one."""
        self._count += 1
        slot = Slot(f"t{self._count}", shape, dtype)
        self._temporaries[level].add(slot)
        return slot

    def deliver(self, source: Slot, target: Slot) -> None:
        """Makes the value of `source` appear in `target`: by computing it there, or else by copying."""
        source = source.resolve()
        # Another size is that of a view whose extents a later step sets, or bounds differently.
        if source in self._temporaries[-1] and source.size == target.size:
            self._temporaries[-1].discard(source)
            source.forward = target
        else:
            self.add(CopySlot(source, target))
