"""Variables of a model, which become states of the network: parameters of `@main` with a value for the next call."""

from __future__ import annotations

from dataclasses import dataclass

from ...deferred import np
from ...diagnostics import IrError, Span
from ...ir import TensorType, Var
from ..onnx.memory_limit import require_room
from ..onnx.mistakes import DamagedModel, UnsupportedNode
from ..onnx.names import RelayNames
from ..onnx.value import Value
from .constants import has_form


@dataclass(frozen=True, eq=False)
class Handle(Value):
    """The value of a tensor that names a variable."""

    key: str = ""


@dataclass(eq=False)
class State:
    """A variable.

    Attributes:
        param: its parameter of `@main`.
        value: its value behind the operators so far.
        first: the value with which it begins.
    """

    param: Var
    value: Value
    first: np.ndarray


_MOST_CONVERTED = 1 << 15
"""Operators of subgraphs that calls may become, all together: each branch and each loop converts its subgraphs."""


class States:
    """The variables of a model, by name, and the room for converted subgraphs.

    Attributes:
        is_beginning: True while the subgraph runs that gives variables their first values.
    """

    def __init__(self, names: RelayNames) -> None:
        self.names = names
        self.all: dict[str, State] = {}
        self.firsts: dict[str, np.ndarray] = {}
        self.is_beginning = False
        self.depth = 0
        self.room = _MOST_CONVERTED

    def charge(self, operators: int, place: Span | None) -> None:
        """Counts the operators of a subgraph that is converted once more. Raises IrError where subgraphs call each other without end."""
        self.room -= operators + 1
        if self.room < 0:
            raise IrError("subgraphs call each other in more ways than can be written out", place, code=DamagedModel)

    def handle(self, key: str) -> Handle:
        """The value of an operator that names a variable."""
        value = Value.constant(np.int32(0))
        return Handle(value.expr, value.known, key=key)

    def read(self, key: str, t: TensorType) -> Value:
        """The value of a variable of that type. Raises IrError for another type."""
        if self.is_beginning:
            raise IrError(f"the variable {key} is read before it has a value", code=UnsupportedNode)
        return self._state(key, t).value

    def assign(self, key: str, value: Value) -> None:
        """Gives a variable a new value. Raises IrError in a branch or a loop, and for another type."""
        if self.is_beginning:
            self.firsts[key] = value.array(f"the first value of {key}")
            return
        if self.depth:
            raise IrError(f"the variable {key} is assigned in a branch or a loop", code=UnsupportedNode)
        self._state(key, value.tensor).value = value

    def _state(self, key: str, t: TensorType) -> State:
        state = self.all.get(key)
        if state is None:
            if not has_form(t.dtype):
                raise IrError(f"the variable {key} is of {t.dtype}, which Relay does not have", code=UnsupportedNode)
            require_room(t.static_shape, f"the variable {key}")
            if self.depth:
                raise IrError(f"the variable {key} is read in a branch or a loop", code=UnsupportedNode)
            first = self.firsts.get(key)
            if first is None:
                first = np.zeros(t.static_shape, t.dtype)
            if first.shape != tuple(t.shape) and first.size == np.prod(t.static_shape, dtype=np.int64):
                first = first.reshape(t.static_shape)
            t = TensorType(first.shape, str(first.dtype))
            param = Var(self.names.of(key), t, None, t)
            state = self.all[key] = State(param, Value(param), first)
        if state.value.tensor != t:
            raise IrError(f"the variable {key} of {state.value.tensor} is used as {t}", code=DamagedModel)
        return state
