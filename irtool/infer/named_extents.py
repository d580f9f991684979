"""Extents of parameters by the names that `input_dim_names` has for them.

    def @main(%x: Tensor[(?, 64), float32], %mask: Tensor[(?), float32], input_dim_names=[["seq", ""], ["past+seq"]])

A name may be a formula of others: its extent follows from theirs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from ..diagnostics import UsageError
from ..ir import Function, Module, TensorType, Type, Var
from ..ir.tensor_names import input_dims
from ..symbolic_int import Symbol, symbol_of
from .extent_formulas import read_formula
from .hints import annotate_params

BOUNDS = "length_bounds"
"""The attribute of an entry with bounds of lengths that follow from values: `["0<=count_0<=512"]`."""
_COUNTED = re.compile(r"count_\d+", re.ASCII)


def with_value_bounds(module: Module, entry: str, dims: Mapping[str, int]) -> tuple[Module, dict[str, int]]:
    """The module in which the entry states the bounds of lengths that follow from values, `count_0` and so on; and the other extents.

    A least length of 1, that of lengths without one, is 0 here. Raises UsageError for single values, and for lengths without bounds.
    """
    function = module.functions.get(entry)
    lengths = counted_lengths(dims, dim_names(module, entry))
    few = [s.bounds for s in lengths.values() if s.choices or not s.is_bounded]
    if few:
        raise UsageError(
            f"{few[0]}: a length that follows from values has bounds", help=f"write {next(iter(lengths))}<=512"
        )
    if not lengths or not isinstance(function, Function):
        return module, dict(dims)
    bounds = [f"{s.low if s.low > 1 else 0}<={n}<={s.high}" for n, s in lengths.items()]
    stated = function.with_attr(BOUNDS, [*function.attrs.get(BOUNDS, ()), *bounds])
    return module.with_function(entry, stated), {n: d for n, d in dims.items() if n not in lengths}


def counted_lengths(dims: Mapping[str, int], names: Collection[str]) -> dict[str, Symbol]:
    """The extents that are lengths which follow from values, by their names; `names` are those of dimensions of parameters."""
    return {
        n: s for n, d in dims.items() if n not in names and _COUNTED.fullmatch(n) and (s := symbol_of(d)) is not None
    }


def value_bounds(function: Function) -> dict[str, tuple[int, int]]:
    """The bounds that an entry states, by name."""
    rows = (row.split("<=") for row in function.attrs.get(BOUNDS, ()))
    return {name: (int(low), int(high)) for low, name, high in rows}


def dim_names(module: Module, entry: str) -> list[str]:
    """The names of extents of the parameters of `entry`, in the order in which they appear; those in a formula follow it."""
    function = module.functions.get(entry)
    rows = input_dims(function) if isinstance(function, Function) else {}
    names = dict.fromkeys(d for row in rows.values() for d in row if d)
    return list(dict.fromkeys(n for d in names for n in (d, *_names_in(d))))


def _names_in(name: str) -> list[str]:
    formula = read_formula(name)
    return [] if formula is None else formula.names


def _extent(name: str, dims: Mapping[str, int]) -> int | None:
    """The extent of a name, or of a formula of names; None for one that `dims` does not decide."""
    if name in dims:
        return dims[name]
    formula = read_formula(name)
    return formula.at(dims) if formula is not None and all(n in dims for n in formula.names) else None


def with_named_extents(module: Module, entry: str, dims: Mapping[str, int]) -> Module:
    """The module in which the parameters of `entry` have these extents for the dimensions of those names, and for formulas of them.

    Raises UsageError for a formula that may be negative.
    """
    function = module.functions.get(entry)
    types: dict[Var, Type] = {}
    for param, row in input_dims(function).items() if isinstance(function, Function) else ():
        t = param.type_annotation
        if isinstance(t, TensorType) and len(row) == len(t.shape):
            named = [d if isinstance(d, int) else _extent(n, dims) for d, n in zip(t.shape, row, strict=True)]
            shape = [d if extent is None else extent for d, extent in zip(t.shape, named, strict=True)]
            types[param] = TensorType(tuple(shape), t.dtype)
    return annotate_params(module, entry, types)
