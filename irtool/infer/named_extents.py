"""Extents of parameters by the names that `input_dim_names` has for them."""

from __future__ import annotations

from collections.abc import Mapping

from ..ir import Function, Module, TensorType, Type, Var
from ..ir.tensor_names import input_dims
from .hints import annotate_params


def dim_names(module: Module, entry: str) -> list[str]:
    """The names of extents of the parameters of `entry`, in the order in which they appear."""
    function = module.functions.get(entry)
    rows = input_dims(function) if isinstance(function, Function) else {}
    return list(dict.fromkeys(d for row in rows.values() for d in row if d))


def with_named_extents(module: Module, entry: str, dims: Mapping[str, int]) -> Module:
    """The module in which the parameters of `entry` have these extents for the dimensions of those names."""
    function = module.functions.get(entry)
    types: dict[Var, Type] = {}
    for param, row in input_dims(function).items() if isinstance(function, Function) else ():
        t = param.type_annotation
        if isinstance(t, TensorType) and len(row) == len(t.shape):
            shape = [d if isinstance(d, int) else dims.get(n, d) for d, n in zip(t.shape, row, strict=True)]
            types[param] = TensorType(tuple(shape), t.dtype)
    return annotate_params(module, entry, types)
