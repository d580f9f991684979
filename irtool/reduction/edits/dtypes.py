"""Dtypes become float32."""

from __future__ import annotations

from ...ir import Constant, TensorType, Type
from ..case import Case, nodes_of
from ..search import Search
from .retyping import retyped

_USUAL = "float32"


def unify_dtypes(search: Search) -> None:
    """One dtype after the other becomes float32 throughout: in parameters, constants and attributes."""
    dtypes: dict[str, None] = {}
    for _, e in nodes_of(search.best.module):
        for t in [e.checked_type, *(p.checked_type for p in getattr(e, "params", ()))]:
            if isinstance(t, TensorType):
                dtypes[t.dtype] = None
    for dtype in dtypes:
        if dtype not in (_USUAL, "bool"):
            search.attempt(_without(search.best, dtype))


def _without(case: Case, dtype: str) -> Case | None:
    import numpy as np

    def leaf(t: Type) -> Type:
        return TensorType(t.shape, _USUAL) if isinstance(t, TensorType) and t.dtype == dtype else t

    def constant(e: Constant) -> Constant:
        return Constant(np.asarray(e.data).astype(np.float32), _USUAL) if e.dtype == dtype else e

    return retyped(case, leaf, constant, lambda v: _USUAL if v == dtype else v)
