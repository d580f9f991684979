"""Values while a module is lowered: slots of memory, in tuples and data, and functions and references that C never sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

from ..diagnostics import IrError
from ..interp.values import Data
from ..ir import (
    Expr,
    Function,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    TensorType,
    TupleType,
    Type,
)
from ..ir.types import is_of_tensors
from ..tir.program import Slot
from .compose import flat_types
from .mistakes import NoCounterpart

Value = Any
"""A Slot, a tuple of Values (`Data` with a constructor), a Closure, a Cell, or REFUSED."""


class Refused:
    """The value of an expression without a counterpart in C: dependent expressions are not reported."""


REFUSED = Refused()


class Cell:
    """A reference: its value at this point, and the depth in branches of its creation."""

    def __init__(self, value: Value, level: int) -> None:
        self.value = value
        self.level = level


class Closure:
    """A local function, with the values of its free variables (its own name included)."""

    def __init__(self, function: Function, captured: dict[Expr, Value]) -> None:
        self.function = function
        self.captured = captured


# ---------------------------------------------------------------------------------------------------------------------
# Types


def structure_of(t: Type | None) -> Any:
    """None for a tensor, a tuple of structures for a tuple."""
    done: dict[int, Any] = {}
    stack: list[tuple[Any, bool]] = [(t, False)]
    while stack:
        x, ready = stack.pop()
        if not isinstance(x, TupleType):
            done[id(x)] = None
        elif ready:
            done[id(x)] = tuple(done[id(f)] for f in x.fields)
        else:
            stack.append((x, True))
            stack.extend((f, False) for f in x.fields)
    return done[id(t)]


def is_tensors(t: Type | None) -> bool:
    """True for a tensor type or nested tuples of them."""
    return t is not None and is_of_tensors(t)


def dims(t: Any) -> tuple[int, ...]:
    """The shape of a tensor type, in numbers."""
    return tuple(t.shape)


def elements(t: TensorType) -> int:
    """The number of elements of a tensor of that type."""
    return prod(dims(t))


def shapes(e: Expr, slots: list[Slot]) -> list[tuple[int, ...]]:
    """The shapes of a value: those of its type (a reshape shares its operand's slot), or where that has none, the slots'."""
    try:
        shapes = [dims(t) for t in flat_types(e.checked_type, e)]
    except IrError:
        return [s.shape for s in slots]
    return shapes if len(shapes) == len(slots) else [s.shape for s in slots]


# ---------------------------------------------------------------------------------------------------------------------
# Tuples and data


def structure(value: Value) -> Any:
    """None for a slot, tuples and data around them; anything else is None as well."""
    return with_leaves(value, lambda leaf: None)


def nest(form: Any, slots: Iterator[Any]) -> Value:
    """Slots in the shape of a structure."""
    return with_leaves(form, lambda leaf: next(slots))


def part(value: Value, path: Sequence[int]) -> Value:
    """The field of a tuple that a path of indices leads to."""
    for index in path:
        value = value[index]
    return value


def flat(value: Value, e: Expr) -> list[Slot]:
    """The slots of a value, tuples flattened."""
    slots: list[Slot] = []
    stack = [value]
    while stack:
        v = stack.pop()
        if isinstance(v, tuple):
            stack.extend(reversed(v))
        elif isinstance(v, Slot):
            slots.append(v)
        else:
            raise IrError(
                "a function is used as a value: closures must be removed before compiling", e.span, code=NoCounterpart
            )
    return slots


def with_leaves(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """`value` with everything in it that is neither a tuple nor data replaced, left to right."""
    if not isinstance(value, tuple):
        return leaf(value)
    stack: list[tuple[Any, Any, list[Any]]] = [(value, iter(value), [])]
    while True:
        whole, left, done = stack[-1]
        for part in left:
            if not isinstance(part, tuple):
                done.append(leaf(part))
            else:
                stack.append((part, iter(part), []))
                break
        else:
            stack.pop()
            result = Data(whole.constructor, done) if isinstance(whole, Data) else tuple(done)
            if not stack:
                return result
            stack[-1][2].append(result)


def same_structure(a: Any, b: Any) -> bool:
    """True if two structures have the same tuples and constructors."""
    stack = [(a, b)]
    while stack:
        x, y = stack.pop()
        if x is None or y is None:
            if x is not y:
                return False
            continue
        names = [v.constructor.name if isinstance(v, Data) else None for v in (x, y)]
        if names[0] != names[1] or len(x) != len(y):
            return False
        stack.extend(zip(x, y))
    return True


def matched(pattern: Pattern, value: Value) -> dict[Expr, Value] | None:
    """The values of a pattern's variables if the value fits it, or None."""
    bound: dict[Expr, Value] = {}
    stack = [(pattern, value)]
    while stack:
        p, v = stack.pop()
        if isinstance(p, PatternVar):
            bound[p.var] = v
        elif isinstance(p, PatternConstructor):
            if not isinstance(v, Data) or v.constructor.name != p.constructor.name:
                return None
            stack.extend(zip(p.patterns, v))
        elif isinstance(p, PatternTuple):
            stack.extend(zip(p.patterns, v))
    return bound
