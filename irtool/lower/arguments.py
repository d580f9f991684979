"""Arguments that are the same constant in every call of a function: the function reads the constant itself.

So weights that are handed to a loop are known where its kernels are scheduled, and get the layouts that these like.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..tir.program import CONSTANT, CallFunction, HostFunction, Slot, steps


def bind_constant_arguments(functions: Mapping[str, HostFunction], entries: Iterable[str]) -> None:
    """Takes from the functions, and from all calls of them, the parameters that are always one constant. Entries keep theirs:
    others call them, too.
    """
    called: dict[str, list[CallFunction]] = {}
    for f in functions.values():
        for s in steps(f.body):
            if isinstance(s, CallFunction):
                called.setdefault(s.function, []).append(s)
    never_bound = set(entries)
    waiting = [name for name in functions if name in called and name not in never_bound]
    while waiting:
        name = waiting.pop()
        f = functions[name]
        known = [_constant(p, [s.inputs[k] for s in called[name]]) for k, p in enumerate(f.params)]
        if not any(known):
            continue
        for p, constant in zip(f.params, known, strict=True):
            if constant is not None:
                p.forward = constant
        for s in called[name]:
            s.inputs = [x for x, constant in zip(s.inputs, known, strict=True) if constant is None]
        f.params = [p for p, constant in zip(f.params, known, strict=True) if constant is None]
        # What it hands on may be constant now.
        waiting += {s.function for s in steps(f.body) if isinstance(s, CallFunction)} - never_bound


def _constant(param: Slot, handed: Iterable[Slot]) -> Slot | None:
    """The constant that all calls hand over, those aside that hand the parameter itself on."""
    arguments = {x.resolve() for x in handed} - {param}
    only = arguments.pop() if len(arguments) == 1 else None
    return only if only is not None and only.kind == CONSTANT else None
