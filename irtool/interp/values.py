"""Values of expressions, beside numpy arrays (tensors) and Python tuples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ..ir import Constructor

if TYPE_CHECKING:
    from ..ops.base import Operator
    from .code import CompiledFunction


class Caller(Protocol):
    """The machine that made a closure, and runs it."""

    def call(self, function: Closure, arguments: Sequence[Any]) -> Any: ...

    def code_of(self, closure: Closure) -> CompiledFunction: ...


class Closure:
    """A function and the values of its captured variables. `code` is None until a global function is first called."""

    __slots__ = ("code", "machine", "name", "values")

    def __init__(
        self, machine: Caller, code: CompiledFunction | None, values: tuple[Any, ...] = (), name: str = "fn"
    ) -> None:
        self.machine = machine
        self.code = code
        self.values = values
        self.name = name

    def __call__(self, *arguments: Any) -> Any:
        """The function's result on values."""
        return self.machine.call(self, arguments)

    def __repr__(self) -> str:
        return f"<closure {self.name}>"


@dataclass(frozen=True, slots=True, eq=False)
class OperatorValue:
    """An operator as a value."""

    operator: type[Operator]

    def __repr__(self) -> str:
        return f"<operator {self.operator.name}>"


class Data(tuple):
    """A value of an algebraic data type: a tuple of the constructor's arguments, and the constructor."""

    constructor: Constructor

    def __new__(cls, constructor: Constructor, fields: Iterable[Any] = ()) -> Data:
        result = super().__new__(cls, fields)
        result.constructor = constructor
        return result

    def __repr__(self) -> str:
        # Lists are as deep as they are long: only the head is shown.
        return f"{self.constructor.name}({', '.join('…' for _ in self)})"


class Reference:
    """A mutable cell."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "<reference>"


@dataclass(frozen=True, slots=True)
class ConstructorValue:
    """A constructor as a function, not applied yet."""

    constructor: Constructor
