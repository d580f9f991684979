"""Dtypes become float32."""

from __future__ import annotations

import dataclasses

from ...diagnostics import IrError
from ...ir import Call, Constant, Expr, MissingData, TensorType, Type
from ...ops.base import attributes_of
from ..case import Case, nodes_of
from ..search import Search
from .retyping import retyped

_USUAL = "float32"


def unify_dtypes(search: Search) -> None:
    """One dtype after the other becomes float32 throughout: in parameters, constants and attributes."""
    found: dict[str, None] = {}
    for _, e in nodes_of(search.best.module):
        for t in [e.checked_type, *(p.checked_type for p in getattr(e, "params", ()))]:
            if isinstance(t, TensorType):
                found[t.dtype] = None
    for dtype in found:
        if dtype not in (_USUAL, "bool"):
            search.attempt(_without(search.best, dtype))


def _without(case: Case, dtype: str) -> Case | None:
    import numpy as np

    def leaf(t: Type) -> Type:
        return TensorType(t.shape, _USUAL) if isinstance(t, TensorType) and t.dtype == dtype else t

    def leave(old: Expr, new: Expr) -> Expr:
        if isinstance(new, Constant) and new.dtype == dtype and not isinstance(new.data, MissingData):
            return Constant(np.asarray(new.data).astype(np.float32), _USUAL)
        if isinstance(new, Call) and dataclasses.is_dataclass(new.attrs):
            named = {f.name: _USUAL for f in dataclasses.fields(new.attrs) if getattr(new.attrs, f.name) == dtype}
            if named:
                attrs = new.op_class.make(attributes_of(new.attrs, **named))
                return Call(new.op, new.args, attrs, new.type_args, new.span)
        return new

    try:
        return retyped(case, leaf, leave)
    except (IrError, ValueError, TypeError):  # an attribute that does not take it
        return None
