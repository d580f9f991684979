"""Stages that change a program: an instrument that compares it before and after each of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from irtool.passes.core.context import PassInstrument
from irtool.tir.program import Program, Slot, steps


class Changes(PassInstrument):
    """`stages`: the names of those that changed something.

    A kernel, step, slot or constant is another one where it is another object, or has other fields: that may tell of changes
    if there are none, since a stage may make an equal object, and never of none where there are some.
    """

    def __init__(self) -> None:
        self.stages: set[str] = set()
        self._before: list[Any] = []
        self._alive: list[Any] = []
        """Objects of all moments: one that is gone would give its identity to another one."""

    def run_before_stage(self, program: Program, stage: str) -> None:
        self._before = self._facts(program)

    def run_after_stage(self, program: Program, stage: str) -> None:
        if self._before and self._before != self._facts(program):
            self.stages.add(stage)

    def _facts(self, program: Program) -> list[Any]:
        return list(self._walk(program))

    def _walk(self, program: Program) -> Iterator[Any]:
        slots: dict[Slot, None] = dict.fromkeys(program.constants)
        yield [value for value in vars(program).values() if isinstance(value, int)]
        for kernel in program.kernels:
            yield self._fields(kernel)
            yield [self._fields(buffer) for buffer in (*kernel.params, *kernel.temporaries)]
        for function in program.functions.values():
            yield self._fields(function)
            for step in steps(function.body):
                yield self._fields(step)
                for value in vars(step).values():
                    slots.update(
                        (v, None) for v in (value if isinstance(value, list) else [value]) if isinstance(v, Slot)
                    )
        yield [self._fields(slot) for slot in slots]

    def _fields(self, thing: Any) -> list[Any]:
        slotted = (name for cls in type(thing).__mro__ for name in getattr(cls, "__slots__", ()))
        names = [*slotted, *getattr(thing, "__dict__", ())]
        return [self._value(thing), *(self._value(getattr(thing, name, None)) for name in names)]

    def _value(self, value: Any) -> Any:
        """A value that is equal as long as nothing is replaced: of containers their elements, of objects their identity."""
        if value is None or isinstance(value, str | int | float):
            return value
        if isinstance(value, list | tuple):
            return [self._value(v) for v in value]
        if isinstance(value, dict):
            return [(self._value(k), self._value(v)) for k, v in value.items()]
        self._alive.append(value)
        return id(value)
