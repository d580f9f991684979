"""Local functions as functions of the program: their captured variables become parameters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from ..diagnostics import IrError
from ..interp.values import Data
from ..ir import Expr, Function, GlobalVar, Var, free_variables_of_functions
from ..tir.program import CONSTANT, PARAM, Slot
from .mistakes import NoCounterpart
from .values import Closure, Value, with_leaves


def close(function: Function, find: Callable[[Expr], Value], free: dict[Function, list[Var]]) -> Closure:
    """A local function with the values of its free variables.

    `free`: those of functions that have been looked into; what is not there yet is added.
    """
    if function.attrs.get("Primitive"):
        return Closure(function, {})
    if function not in free:
        free.update(free_variables_of_functions(function))
    captured: dict[Expr, Value] = {v: find(v) for v in free[function]}
    return Closure(function, {v: value for v, value in captured.items() if value is not None})


class Capture(NamedTuple):
    """The captures of a closure, with those of the closures that it uses.

    Attributes:
        number: equal for two closures that one function of the program can serve, given the slots of either.
        slots: the memory, each slot once; constants need not be handed over.
        names: names of the parameters for the slots.
    """

    number: int
    slots: tuple[Slot, ...]
    names: tuple[str, ...]


class Captures:
    """The captures of the closures of a program.

    That of a closure is made of those of the closures that it uses, each of which is looked at once. Closures hold only
    earlier ones and themselves, so there is no other ring.
    """

    def __init__(self) -> None:
        self._captures: dict[Closure, Capture] = {}
        self._numbers: dict[Any, int] = {}

    def of(self, closure: Closure) -> Capture:
        """The capture of a closure. Raises IrError for a value that is not in memory."""
        stack = [closure]
        while stack:
            c = stack[-1]
            waiting = [x for x in self._parts(c) if x not in self._captures]
            if waiting:
                stack += waiting
                continue
            stack.pop()
            if c not in self._captures:
                self._captures[c] = self._moved(c) if isinstance(c, _Moved) else self._capture(c)
        return self._captures[closure]

    def inside(self, closure: Closure) -> tuple[Closure, list[Slot]]:
        """The closure as its function's body sees it, and the parameters that stand for the slots."""
        capture = self.of(closure)
        params = [Slot(n, s.shape, s.dtype, PARAM) for n, s in zip(capture.names, capture.slots)]
        origin = closure.origin if isinstance(closure, _Moved) else closure
        return _Moved(origin, dict(zip(self.of(origin).slots, params)), {}), params

    def _parts(self, c: Closure) -> list[Closure]:
        """The closures whose captures that of a closure is made of."""
        if isinstance(c, _Moved):
            return [c.origin]
        result: list[Closure] = []

        def collect(leaf: Value) -> None:
            if isinstance(leaf, Closure) and leaf is not c:
                result.append(leaf)

        for value in c.captured.values():
            with_leaves(value, collect)
        return result

    def _moved(self, c: _Moved) -> Capture:
        number, slots, names = self._captures[c.origin]
        return Capture(number, tuple(map(c.place, slots)), names)

    def _capture(self, c: Closure) -> Capture:
        order: dict[Slot, int] = {}
        names: list[str] = []

        def place(slot: Slot, name: str) -> int:
            if slot not in order:
                names.append(name)
            return order.setdefault(slot, len(order))

        def code(var: Var, leaf: Value) -> Any:
            """The contribution of a leaf to the number."""
            if leaf is c:
                return "itself"
            if isinstance(leaf, Slot):
                slot = leaf.resolve()
                return slot if slot.kind == CONSTANT else place(slot, var.name)
            if isinstance(leaf, GlobalVar):
                return "global", leaf.name
            if isinstance(leaf, Closure):
                number, slots, inner = self._captures[leaf]
                return "closure", number, *map(place, slots, inner)
            raise _refusal(c.function, var)

        key: list[Any] = [c.function]
        for var, value in c.captured.items():
            assert isinstance(var, Var)
            key.append((with_leaves(value, partial(code, var)), _constructors(value)))
        number = self._numbers.setdefault(tuple(key), len(self._numbers))
        return Capture(number, tuple(order), tuple(names))


class _Moved(Closure):
    """A closure that finds parameters in the places of slots, as do the closures that it holds.

    What it captures is made when it is asked for, so a chain of closures is not made anew for each of them.
    """

    def __init__(self, origin: Closure, moved_slots: dict[Slot, Slot], moved: dict[Closure, Closure]) -> None:
        self.origin = origin
        self.places = moved_slots
        self.function = origin.function
        self._moved = moved
        moved[origin] = self
        self._captured: dict[Expr, Value] | None = None

    @property
    def captured(self) -> dict[Expr, Value]:  # type: ignore[override]  # an attribute of the others
        """As of the origin, with the parameters in it."""
        if self._captured is None:
            self._captured = {v: with_leaves(value, self._seen) for v, value in self.origin.captured.items()}
        return self._captured

    def _seen(self, leaf: Value) -> Value:
        if leaf in self._moved:
            return self._moved[leaf]
        if isinstance(leaf, _Moved):
            moved_slots = {s: self.place(p) for s, p in leaf.places.items()}
            self._moved[leaf] = moved = _Moved(leaf.origin, moved_slots, {})
            return moved
        if isinstance(leaf, Closure):
            return _Moved(leaf, self.places, self._moved)
        if isinstance(leaf, GlobalVar):
            return leaf
        slot = leaf.resolve()
        return slot if slot.kind == CONSTANT else self.place(slot)

    def place(self, slot: Slot) -> Slot:
        """The parameter for a slot, which may have become another one since."""
        result = self.places.get(slot)
        if result is None:
            now = slot.resolve()
            result = next((p for s, p in self.places.items() if s.resolve() is now), slot)
        return result


def _constructors(value: Value) -> tuple[str, ...]:
    """The constructors of the data in a value; the value's form does not tell them."""
    names: list[str] = []
    stack = [value]
    while stack:
        v = stack.pop()
        if isinstance(v, Data):
            names.append(v.constructor.name)
        if isinstance(v, tuple):
            stack.extend(v)
    return tuple(names)


def _refusal(function: Function, var: Var) -> IrError:
    return IrError(
        f"the function uses %{var.name} from around it, which is not in memory when the program runs",
        function.span,
        help="inline it, or pass the variable as a parameter",
        code=NoCounterpart,
    )
