"""The steps of a host function while it is lowered: those of the branches it is in, and what is known there."""

from __future__ import annotations

from typing import Any

from ..ir import Expr
from ..tir.program import CopySlot, Slot, Step
from .values import Value


class Blocks:
    """Steps, known values and temporaries of each block, the innermost branch's last.

    What a branch computes is not known outside of it, and may be put elsewhere only from within.
    """

    def __init__(self) -> None:
        self.steps: list[list[Step]] = [[]]
        self.known: list[dict[Expr, Value]] = [{}]
        self._made: list[set[Slot]] = [set()]
        self._count = 0

    @property
    def depth(self) -> int:
        """How many blocks lie in each other here."""
        return len(self.steps)

    def add(self, step: Step) -> None:
        """Appends a step to the innermost block."""
        self.steps[-1].append(step)

    def open(self) -> None:
        """Begins a branch's arm."""
        self.steps.append([])
        self.known.append({})
        self._made.append(set())

    def close(self) -> list[Step]:
        """Ends the innermost arm; its steps."""
        self.known.pop()
        self._made.pop()
        return self.steps.pop()

    def learn(self, e: Expr, value: Value) -> None:
        """Notes the value of an expression, for the innermost block."""
        self.known[-1][e] = value

    def find(self, e: Expr) -> Value | None:
        """The value of an expression, if it is known here."""
        for scope in reversed(self.known):
            if e in scope:
                return scope[e]
        return None

    def fresh(self, shape: Any, dtype: str, level: int = -1) -> Slot:
        """A temporary of the innermost block, or of another one."""
        self._count += 1
        slot = Slot(f"t{self._count}", shape, dtype)
        self._made[level].add(slot)
        return slot

    def deliver(self, source: Slot, target: Slot) -> None:
        """Makes the value of `source` appear in `target`: by computing it there, or else by copying."""
        source = source.resolve()
        if source in self._made[-1]:
            self._made[-1].discard(source)
            source.forward = target
        else:
            self.add(CopySlot(source, target))
