"""Weights that are given beside a module, as arrays of the types that its parameters have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..diagnostics import IrError, nearest
from ..infer import param_types
from ..ir import Function, Module
from ..parser.params import origin
from ..passes.core.bind import constant_of


def fit_weights(module: Module, entry: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays by name, in the order of the parameters, converted where that loses nothing.

    Raises IrError, all in one, for names that are no parameters, and for wrong shapes and dtypes.
    """
    function = module.functions.get(entry)
    if not params or not isinstance(function, Function):
        return {}
    by_name = {p.name: p for p in function.params}
    wrong: list[IrError] = []
    for name in params:
        if name not in by_name:
            notes, help = origin(params, name), nearest(name, by_name)
            wrong.append(IrError(f"@{entry} has no parameter %{name}", function.span, help=help, notes=notes))
    types = param_types(module, entry)
    result = {}
    for name, param in by_name.items():
        if name in params:
            try:
                result[name] = constant_of(param, types.get(name), params[name], origin(params, name)).data
            except IrError as error:
                wrong.append(error)
    if wrong:
        raise IrError(d for error in wrong for d in error.diagnostics)
    return result
