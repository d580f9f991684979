"""The names that a function's tensors have in the model that it was made from: what its inputs and outputs are called outside of Relay.

    def @main(%image_0: …, %w: …, input_tensor_names=["image:0"], output_tensor_names=["scores:0"])

`output_tensor_names`, which TVM's importer of TFLite writes, has the outputs in order. `input_tensor_names` has the first parameters
in order, those behind them being weights; it is there where a name is not that of the parameter. Both are attributes as others
are: a text may have anything in their place, which then names nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .expr import Function, Var

INPUTS = "input_tensor_names"
OUTPUTS = "output_tensor_names"


def output_names(f: Function) -> tuple[str, ...]:
    """The names of the outputs, tuples taken apart; fewer than these where not all are known."""
    return _names(f.attrs.get(OUTPUTS))


def input_names(f: Function) -> dict[Var, str]:
    """The names of the parameters that are inputs of the model, where they are known."""
    return dict(zip(f.params, _names(f.attrs.get(INPUTS)), strict=False))


def without_inputs(attrs: Mapping[str, Any], f: Function, is_gone: Callable[[Var], bool]) -> Mapping[str, Any]:
    """Attributes of `f` for the same function without some of its parameters."""
    names = _names(attrs.get(INPUTS))
    if not names:
        return attrs
    kept = [n for p, n in zip(f.params, names, strict=False) if not is_gone(p)]
    return {**attrs, INPUTS: kept}


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
        return ()
    return tuple(map(str, value))
