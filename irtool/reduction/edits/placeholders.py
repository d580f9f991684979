"""Placeholders for removed nodes: a parameter, or zeros."""

from __future__ import annotations

from ...diagnostics import IrError
from ...ir import (
    Call,
    Constant,
    Expr,
    Function,
    TensorType,
    Tuple,
    TupleType,
    Type,
    Var,
    free_variables,
    type_children,
    with_function,
)
from ...ir.dtypes import numpy_dtype
from ...ir.types import is_of_tensors
from ...ops import call
from ...ops.base import is_call_to
from ..search import Search
from .replacing import entries, own_nodes, replaced

_FEW_FIELDS = 64


def parameter_of(e: Expr, name: str = "p") -> Var | None:
    """A new variable of the type of `e`; None if that is no type of data."""
    t = e.checked_type
    return Var(name, t) if t is not None and is_of_tensors(t) and not t.is_generic else None


def with_parameters(f: Function) -> Function:
    """`f` with the variables that are free in it as further parameters, and without the parameters that it does not use."""
    free = free_variables(f)
    used = set(free_variables(f.body))
    return with_function(f, params=(*(p for p in f.params if p in used), *free))


def zeros_of(t: Type | None) -> Expr | None:
    """Zeros of a static type, flat tuples of tensors included; None for other types."""
    if isinstance(t, TensorType) and t.extents is not None:
        if not t.shape:
            import numpy as np

            try:
                return Constant(np.zeros((), numpy_dtype(t.dtype)), t.dtype)
            except IrError:
                return None
        return call("zeros", shape=t.extents, dtype=t.dtype)
    if isinstance(t, TupleType) and t.is_flat and len(t.fields) <= _FEW_FIELDS:
        fields = [zeros_of(f) for f in t.fields if not type_children(f)]
        return Tuple(tuple(f for f in fields if f is not None)) if None not in fields else None
    return None


def zero_inner_calls(search: Search) -> None:
    """Calls in functions with a caller, and in functions within functions, become zeros: nothing can be passed in there."""
    case = search.best
    own = set(entries(case.module))
    placeholders: dict[Expr, Expr] = {}
    for name, f in case.module.relay_functions.items():
        outer = set(own_nodes(f)) if name in own else set()
        for e in own_nodes(f, ()):
            zeros = zeros_of(e.checked_type) if isinstance(e, Call) and e not in outer else None
            if zeros is not None and not is_call_to(e, "zeros"):
                placeholders[e] = zeros
    search.keep_most(list(reversed(placeholders)), lambda chosen: replaced(case, {e: placeholders[e] for e in chosen}))


__all__ = ["parameter_of", "with_parameters", "zero_inner_calls", "zeros_of"]
