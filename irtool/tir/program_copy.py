"""A copy of a program that shares its constants: the same network, to be scheduled for another processor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .program import CONSTANT, Branch, Loop, Program, Slot, Switch


def copy_program(program: Program) -> Program:
    """The same functions, steps and slots as new objects, and the very same kernels and constants.

    Stages that replace kernels in the steps, or that give slots their places, leave the original as it is.
    """
    slots: dict[Slot, Slot] = {}

    def slot(old: Slot) -> Slot:
        old = old.resolve()
        if old.kind == CONSTANT:
            return old
        result = slots.get(old)
        if result is None:
            result = slots[old] = Slot(old.name, old.shape, old.dtype, old.kind)
            result.offset = old.offset
        return result

    functions = {}
    for name, f in program.functions.items():
        body: list[Any] = []
        functions[name] = replace(
            f,
            params=[slot(s) for s in f.params],
            results=[slot(s) for s in f.results],
            states=[
                replace(s, slot=slot(s.slot), next=slot(s.next), first=None if s.first is None else slot(s.first))
                for s in f.states
            ],
            body=body,
            values=None
            if f.values is None
            else replace(f.values, numbers={slot(s): n for s, n in f.values.numbers.items()}),
        )
        waiting = [(f.body, body)]
        while waiting:
            source, target = waiting.pop()
            for step in source:
                changed: dict[str, Any] = {}
                if isinstance(step, Branch):
                    changed = {"then": [], "other": []}
                    waiting += [(step.then, changed["then"]), (step.other, changed["other"])]
                elif isinstance(step, Switch):
                    changed = {"arms": [[] for _ in step.arms]}
                    waiting += list(zip(step.arms, changed["arms"]))
                elif isinstance(step, Loop):
                    changed = {"bodies": [[] for _ in step.bodies]}
                    waiting += list(zip(step.bodies, changed["bodies"]))
                for key, value in vars(step).items():
                    if isinstance(value, Slot):
                        changed[key] = slot(value)
                    elif isinstance(value, list) and key not in changed:
                        changed[key] = [slot(s) for s in value]
                target.append(replace(step, **changed))
    return replace(program, functions=functions, kernels=list(program.kernels), constants=list(program.constants))
