"""Lengths that only the run knows, replaced by numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ..diagnostics import IrError
from ..ir import (
    Call,
    Constructor,
    Expr,
    Function,
    Match,
    Module,
    TensorType,
    Type,
    Var,
    binders,
    post_order,
    rewrite,
    rewrite_type,
)
from ..ir.attributes import formulas, stated
from ..ir.constructors import with_argument_types, with_constructors
from ..ir.expr import with_function
from ..ir.rewrite import with_binders
from ..ir.tensor_names import INPUT_SHAPES
from ..ir.types import type_leaves
from ..ir.untyped import untyped
from ..symbolic_int import Symbol, SymbolicInt, symbol_of, symbols_of, value_at
from ..tir.lengths import nest_with_lengths
from ..tir.stmt import PrimFunc
from .infer import infer_types


def symbols_of_type(t: Type | None) -> list[Symbol]:
    """The symbols in the shapes of a type, in order of appearance."""
    if t is None:
        return []
    return symbols_of(
        d for leaf in type_leaves(t) if isinstance(leaf, TensorType) for d in leaf.shape if isinstance(d, int)
    )


def symbols_of_params(function: Function) -> list[Symbol]:
    """The symbols in the types of a function's parameters, in order of appearance."""
    symbols = [s for p in function.params for s in symbols_of_type(p.checked_type or p.type_annotation)]
    return list(dict.fromkeys(symbols))


def symbols_of_module(module: Module) -> set[Symbol]:
    """The symbols in the types of parameters of all functions."""
    return {s for f in module.relay_functions.values() for s in symbols_of_params(f)}


def lengths_of_arrays(arrays: Mapping[Var, Any]) -> dict[Symbol, int]:
    """The lengths that arrays of parameters have, each from the first axis that is it alone."""
    lengths: dict[Symbol, int] = {}
    for p, array in arrays.items():
        t, shape = p.checked_type or p.type_annotation, getattr(array, "shape", ())
        if isinstance(t, TensorType) and len(shape) == len(t.shape):
            for d, size in zip(t.shape, shape, strict=True):
                if isinstance(d, int) and (s := symbol_of(d)) is not None:
                    lengths.setdefault(s, size)
    return lengths


def with_lengths(module: Module, values: Mapping[Symbol, int]) -> Module:
    """The module in which each symbol is its number, in types and attributes; typed.

    ::

        def @main(%x: Tensor[(seq, 4), float32]) { reshape(%x, newshape=[4 * seq]) }      with seq = 3
            ⇒  def @main(%x: Tensor[(3, 4), float32]) { reshape(%x, newshape=[12]) }

    Raises IrError for a symbol without a number, and where the module does not hold for these numbers.
    """
    return infer_types(with_extents(module, values))


def with_extents(module: Module, values: Mapping[Symbol, int]) -> Module:
    """The module in which each symbol is its extent, a number or a formula; without types."""
    changed: dict[str, Any] = {}
    definitions, constructors = with_argument_types(module.type_definitions, lambda t: type_at(t, values))
    for name, f in module.functions.items():
        if isinstance(f, Function):
            changed[name] = _function_at(f, values, constructors)
        elif isinstance(f, PrimFunc):
            changed[name] = nest = nest_with_lengths(f, values)
            nest.checked_type = None if f.checked_type is None else type_at(f.checked_type, values)
    module = module.with_functions(changed)
    return module.with_types(definitions) if constructors else module


def _function_at(f: Function, values: Mapping[Symbol, int], constructors: Mapping[str, Constructor]) -> Function:
    memo: dict[Expr, Expr] = {}
    renamed: dict[Var, Var] = {}
    for e in post_order(f):
        for v in binders(e):
            annotation = v.type_annotation
            if symbols_of_type(annotation) or symbols_of_type(v.checked_type):
                changed = None if annotation is None else type_at(annotation, values)
                memo[v] = renamed[v] = Var(v.name, changed, v.span, None, v.virtual_device)

    def leave(old: Expr, new: Expr) -> Expr:
        new = untyped(with_binders(new, renamed))
        if isinstance(new, Constructor):
            return constructors.get(new.name, new)
        if isinstance(new, Match) and constructors:
            return with_constructors(new, constructors)
        if isinstance(new, Call):
            attrs, type_args = new.attrs, tuple(type_at(t, values) for t in new.type_args)
            if attrs is not None and formulas([v for _, v in stated(attrs)]):
                attrs = _attributes_at(attrs, values)
            if attrs is not new.attrs or type_args != new.type_args:
                return Call(new.op, new.args, attrs, type_args, new.span)
        if isinstance(new, Function) and new.ret_type is not None:
            return with_function(new, ret_type=type_at(new.ret_type, values))
        return new

    function = rewrite(f, leave, memo=memo)
    if INPUT_SHAPES not in function.attrs:
        return function
    attrs = {k: v for k, v in function.attrs.items() if k != INPUT_SHAPES}
    return with_function(function, attrs=attrs)


def type_at(t: Type, values: Mapping[Symbol, int]) -> Type:
    """The type in which each symbol is its number. Raises IrError for a symbol without a number."""

    def leaf(t: Type) -> Type:
        if not isinstance(t, TensorType) or not any(isinstance(d, SymbolicInt) for d in t.shape):
            return t
        return TensorType(tuple(_number(d, values) for d in t.shape), t.dtype, t.span)

    return rewrite_type(t, leaf)


def _attributes_at(attrs: Any, values: Mapping[Symbol, int]) -> Any:
    if isinstance(attrs, dict):
        return {name: _value_at(v, values) for name, v in attrs.items()}
    return dataclasses.replace(attrs, **{name: _value_at(v, values) for name, v in stated(attrs)})


def _value_at(value: Any, values: Mapping[Symbol, int]) -> Any:
    """An attribute: a number, or a list of lists at most."""
    if not formulas([value]):
        return value
    if isinstance(value, tuple | list):
        return type(value)(
            tuple(_number(x, values) for x in v) if isinstance(v, tuple | list) else _number(v, values) for v in value
        )
    return _number(value, values)


def _number(d: Any, values: Mapping[Symbol, int]) -> Any:
    if not isinstance(d, SymbolicInt):
        return d
    missing = [s.name for s in symbols_of([d]) if s not in values]
    if missing:
        raise IrError(f"the length {missing[0]} is the extent of no input: its value is not known")
    extent = value_at(d, values)
    return extent if isinstance(extent, SymbolicInt) else int(extent)
