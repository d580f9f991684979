"""Steps of a function with states: the interpreter hands the next values of its states to itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..deferred import np
from ..diagnostics import IrError
from ..infer.lengths import lengths_of_arrays, symbols_of_params, with_lengths
from ..ir import Function, Module, TensorType, Var
from ..ir.dtypes import numpy_dtype
from ..ir.mistakes import ValueDoesNotFit
from ..ir.tensor_names import first_values, state_lengths, state_outputs
from ..symbolic_int import Symbol, symbol_of, value_at
from .evaluate import evaluate
from .values import Data


class Steps:
    """Consecutive steps of the function `entry` of a typed module, whose states begin with zeros, or with the values that it has for them.

    A module whose states have lengths says them in `state_lengths`; those that steps change begin with 0.
    """

    def __init__(self, module: Module, entry: str = "main") -> None:
        function = module[entry]
        assert isinstance(function, Function)
        self._entry = entry
        self._function = function
        self._outputs = state_outputs(function)
        self._modules: dict[tuple[int, ...], Module] = {(): module}
        self._positions = Positions(function)
        self._values: dict[Var, Any] = {}

    def step(self, inputs: Sequence[Any]) -> Any:
        """The outputs of a step but for states, for values of the other parameters in order: a value, or a tuple of them.

        Raises as `evaluate` does, and IrError if the states have no room.
        """
        known = dict(zip(self._own(), inputs))
        lengths = self._lengths(known)
        self._positions.check(lengths)
        begin = {n: c.data for n, c in first_values(self._function).items()}
        for p in self._outputs:
            if p not in self._values:
                self._values[p] = begin.get(p.name, zeros_of(p, lengths))
        values = [self._values[p] if p in self._values else known[p] for p in self._function.params]
        result = evaluate(self._module(lengths), values, entry=self._entry)
        leaves = _leaves(result)
        self._values = {p: leaves[n] for p, n in self._outputs.items()}
        self._positions.advance(lengths)
        left, number = [], 0
        for field in result if _is_plain_tuple(result) else (result,):
            if _is_plain_tuple(field) or number not in self._outputs.values():
                left.append(field)
            number += len(_leaves(field))
        return left[0] if len(left) == 1 and not _is_plain_tuple(left[0]) else tuple(left)

    def values(self) -> dict[str, Any]:
        """The states by name after the last step; none before the first one."""
        return {p.name: v for p, v in self._values.items()}

    def _own(self) -> list[Var]:
        return [p for p in self._function.params if p not in self._outputs]

    def _lengths(self, inputs: Mapping[Var, Any]) -> dict[Symbol, int]:
        """The lengths of a step: those of the states, and those that its inputs have."""
        return {**lengths_of_arrays(inputs), **self._positions.values}

    def _module(self, lengths: Mapping[Symbol, int]) -> Module:
        """The module at these lengths."""
        symbols = symbols_of_params(self._function)
        key = tuple(lengths[s] for s in symbols if s in lengths)
        if key not in self._modules:
            self._modules[key] = with_lengths(self._modules[()], lengths)
        return self._modules[key]


def _is_plain_tuple(value: Any) -> bool:
    return isinstance(value, tuple) and not isinstance(value, Data)


def _leaves(root: Any) -> list[Any]:
    """The tensors and values of data types in a result, left to right: those that outputs are numbered by."""
    result, stack = [], [root]
    while stack:
        value = stack.pop()
        if _is_plain_tuple(value):
            stack.extend(reversed(value))
        else:
            result.append(value)
    return result


class Positions:
    """The lengths that steps of a function change, as `state_lengths` says them: 0 before the first one."""

    def __init__(self, function: Function) -> None:
        rows = [(symbol_of(d), after, most) for d, after, most in state_lengths(function) if after != d]
        self._rows = [(s, after, most) for s, after, most in rows if s is not None]
        self.values = {s: 0 for s, _, _ in self._rows}

    def are_full(self, lengths: Mapping[Symbol, int]) -> bool:
        """True if the states have no room for a step with these lengths."""
        return any(value_at(after, lengths) > most for _, after, most in self._rows)

    def check(self, lengths: Mapping[Symbol, int]) -> None:
        """Raises IrError for a step with these lengths for which the states have no room."""
        for s, after, most in self._rows:
            if (size := int(value_at(after, lengths))) > most:
                raise IrError(
                    f"the states have no room for the step: {after} would be {size}, and at most {most} is possible",
                    help=f"a larger bound of {s.name}",
                    code=ValueDoesNotFit,
                )

    def advance(self, lengths: Mapping[Symbol, int]) -> None:
        """After a step with these lengths."""
        self.values = {s: int(value_at(after, lengths)) for s, after, _ in self._rows}


def zeros_of(p: Var, lengths: Mapping[Symbol, int] = {}) -> Any:  # never changed
    """Zeros of a parameter's type, at these lengths."""
    t = p.checked_type or p.type_annotation
    assert isinstance(t, TensorType)
    return np.zeros([int(value_at(d, lengths)) for d in t.shape if isinstance(d, int)], numpy_dtype(t.dtype))
