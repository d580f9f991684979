"""Local functions as functions of the program: what they use from around them becomes parameters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..diagnostics import IrError
from ..interp.values import Data
from ..ir import Expr, Function, Var, free_variables_of_functions
from ..tir.program import CONSTANT, PARAM, Slot
from .mistakes import NoCounterpart
from .values import Closure, Value, with_leaves


def close(function: Function, find: Callable[[Expr], Value], free: dict[Function, list[Var]]) -> Closure:
    """A local function with what is known of its free variables.

    `free`: those of functions that have been looked into; what is not there yet is added.
    """
    if function.attrs.get("Primitive"):
        return Closure(function, {})
    if function not in free:
        free.update(free_variables_of_functions(function))
    captured: dict[Expr, Value] = {v: find(v) for v in free[function]}
    return Closure(function, {v: value for v, value in captured.items() if value is not None})


class Capture:
    """What a closure uses from around it, through the closures that it uses as well.

    Attributes:
        slots: the memory, each slot once; constants need not be handed over.
        key: equal for two captures that one function of the program can serve, given the slots of either.
    """

    def __init__(self, closure: Closure) -> None:
        self.slots: list[Slot] = []
        self._names: list[str] = []
        self._numbers: dict[Slot, int] = {}
        self._closures: dict[Closure, int] = {closure: 0}
        self._waiting = [closure]
        key: list[Any] = []
        while self._waiting:
            c = self._waiting.pop(0)
            key.append(c.function)
            for var, value in c.captured.items():
                assert isinstance(var, Var)
                form = with_leaves(value, partial(self._code, closure.function, var))
                key.append((form, _constructors(value)))
        self.key = tuple(key)

    def _code(self, function: Function, var: Var, leaf: Value) -> Any:
        """What a leaf contributes to the key."""
        if isinstance(leaf, Slot):
            slot = leaf.resolve()
            if slot.kind == CONSTANT:
                return slot
            if slot not in self._numbers:
                self._numbers[slot] = len(self.slots)
                self.slots.append(slot)
                self._names.append(var.name)
            return self._numbers[slot]
        if isinstance(leaf, Closure):
            if leaf not in self._closures:
                self._closures[leaf] = len(self._closures)
                self._waiting.append(leaf)
            return "closure", self._closures[leaf]
        raise _refusal(function, var)

    def inside(self) -> tuple[Closure, list[Slot]]:
        """The closure as its function's body sees it, and the parameters that stand for the slots."""
        params = [Slot(n, s.shape, s.dtype, PARAM) for n, s in zip(self._names, self.slots)]
        made = {c: Closure(c.function, {}) for c in self._closures}

        def seen(leaf: Value) -> Value:
            if isinstance(leaf, Closure):
                return made[leaf]
            slot = leaf.resolve()
            return slot if slot.kind == CONSTANT else params[self._numbers[slot]]

        for c, inner in made.items():
            inner.captured.update((v, with_leaves(value, seen)) for v, value in c.captured.items())
        return next(iter(made.values())), params


def _constructors(value: Value) -> tuple[str, ...]:
    """The constructors of the data in a value; the value's form does not tell them."""
    found: list[str] = []
    stack = [value]
    while stack:
        v = stack.pop()
        if isinstance(v, Data):
            found.append(v.constructor.name)
        if isinstance(v, tuple):
            stack.extend(v)
    return tuple(found)


def _refusal(function: Function, var: Var) -> IrError:
    return IrError(
        f"the function uses %{var.name} from around it, which is not in memory when the program runs",
        function.span,
        help="inline it, or pass the variable as a parameter",
        code=NoCounterpart,
    )
