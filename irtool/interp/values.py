"""What expressions evaluate to, beside numpy arrays (tensors) and Python tuples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..ir import Constructor

if TYPE_CHECKING:
    from ..ops.base import Operator
    from .code import Code
    from .machine import Machine


class Closure:
    """A function and the values of what it uses from outside. `code` is None until a global function is first called."""

    __slots__ = ("code", "machine", "name", "values")

    def __init__(self, machine: Machine, code: Code | None, values: tuple[Any, ...] = (), name: str = "fn") -> None:
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Data:
    """A value of an algebraic data type: a constructor and what it holds."""

    constructor: Constructor
    fields: tuple[Any, ...]

    def __repr__(self) -> str:
        # Lists are as deep as they are long: only the head is shown.
        return f"{self.constructor.name}({', '.join('…' for _ in self.fields)})"


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
