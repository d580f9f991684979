"""Steps of a function with states: the interpreter hands the next values of its states to itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..deferred import np
from ..ir import Function, Module, TensorType, Var
from ..ir.dtypes import numpy_dtype
from ..ir.tensor_names import first_values, state_outputs
from ..ir.values import value_leaves
from .evaluate import evaluate


class Steps:
    """Consecutive steps of the function `entry` of a typed module, whose states begin with zeros, or with the values that it has for them."""

    def __init__(self, module: Module, entry: str = "main") -> None:
        function = module[entry]
        assert isinstance(function, Function)
        self._module, self._entry = module, entry
        self._params = function.params
        self._outputs = state_outputs(function)
        begin = {n: c.data for n, c in first_values(function).items()}
        self._values = {p: begin.get(p.name, zeros_of(p)) for p in self._outputs}

    def step(self, inputs: Sequence[Any]) -> Any:
        """The outputs of a step but for states, for values of the other parameters in order: a value, or a tuple of them.

        Raises as `evaluate` does.
        """
        others = iter(inputs)
        values = [self._values[p] if p in self._values else next(others) for p in self._params]
        result = evaluate(self._module, values, entry=self._entry)
        leaves = value_leaves(result)
        self._values = {p: leaves[n] for p, n in self._outputs.items()}
        left, number = [], 0
        for field in result if isinstance(result, tuple) else (result,):
            if number not in self._outputs.values():
                left.append(field)
            number += len(value_leaves(field))
        return left[0] if len(left) == 1 and not isinstance(left[0], tuple) else tuple(left)


def zeros_of(p: Var) -> Any:
    """Zeros of a parameter's type."""
    t = p.checked_type or p.type_annotation
    assert isinstance(t, TensorType)
    return np.zeros(t.static_shape, numpy_dtype(t.dtype))
