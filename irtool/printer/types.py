"""Types as text. Symbolic dimensions stand in the metadata section; everything else is written in place."""

from __future__ import annotations

from typing import Any

from ..ir import ANY, Call, DimExpr, DimVar, Function, Int64, TensorType, Type, TypeVar, binders, post_order
from ..ir.show import show_leaf, show_type
from ..symbolic_int import SymbolicInt
from .metadata import References

_INT32 = 2147483647
"""The largest dimension that stands without a suffix: a larger one is read as one of 64 bits."""


class TypeText:
    """Writes types, each object once."""

    def __init__(self, references: References) -> None:
        self.references = references
        self.renamed: dict[TypeVar, str] = {}
        """Type parameters that stand inside of another of the same name."""
        self._known: dict[int, tuple[Type, str]] = {}

    def __call__(self, t: Type) -> str:
        known = self._known.get(id(t))
        if known is not None:
            return known[1]
        text = self._tensor(t) if t.__class__ is TensorType else show_type(t, self._leaf)
        self._known[id(t)] = (t, text)
        return text

    def _leaf(self, t: object) -> str | None:
        if t.__class__ is TensorType:
            return self._tensor(t)
        if t.__class__ is TypeVar and t in self.renamed:
            return self.renamed[t]
        return show_leaf(t)

    def _tensor(self, t: Any) -> str:
        shape = t.shape
        if not shape:
            return t.dtype
        return f"Tensor[({', '.join([str(d) if d.__class__ is int and d <= _INT32 else self.dim(d) for d in shape])}), {t.dtype}]"

    def dim(self, d: Any) -> str:
        """One dimension."""
        if d is ANY:
            return "?"
        if isinstance(d, DimVar | DimExpr):
            return self.references.refer(d)
        if isinstance(d, SymbolicInt):
            return self.references.formula(d)
        return f"{int(d)}i64" if isinstance(d, Int64) or d > _INT32 else str(d)


def annotated_type_variables(f: Function) -> set[TypeVar]:
    """Every type variable that stands in an annotation of `f` or below it."""
    types: list[object] = []
    for e in post_order(f):
        types += [v.type_annotation for v in binders(e)]
        if isinstance(e, Function):
            types.append(e.ret_type)
        elif isinstance(e, Call):
            types += e.type_args
    result: set[TypeVar] = set()
    seen: set[int] = set()
    while types:
        t = types.pop()
        if isinstance(t, TypeVar):
            result.add(t)
        elif isinstance(t, Type) and id(t) not in seen:
            seen.add(id(t))
            types += t._parts()
    return result
