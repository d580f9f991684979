"""Asking a type rule where all types are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir import Expr, IncompleteType, Type
from ..ir.dims import Dim
from ..ir.types import TensorType, TupleType, type_leaves
from ..symbolic_int import is_known
from .base import Operator, RelationError
from .elements import RequiredElements, require
from .shapes import same_shape


class Known:
    """A `Reporter` for questions about a type rule: it reports nothing and solves nothing."""

    @property
    def out(self) -> Type:
        """Nothing is known of the result."""
        return IncompleteType()

    def argument(self, index: int) -> Expr | None:
        """There are types, and no expressions."""
        return None

    def assign(self, index: int, type: Type) -> None:
        """The arguments have their types."""

    def unify(self, a: Type, b: Type) -> Type:
        """The one that is known; RelationError if they differ, but for extents that are open."""
        known = [t for t in (a, b) if not isinstance(t, IncompleteType)]
        if len(known) == 2 and known[0] != known[1] and not _agree(*known):
            raise RelationError(f"{a} and {b} differ")
        return known[0] if known else a

    def require_elements(self, extents: Sequence[Dim], results: Sequence[Dim], message: str, least: int = 1) -> None:
        """RelationError if an axis surely has too few elements."""
        require(extents, results, message, least)


def _agree(a: Type, b: Type) -> bool:
    """True for tensors of one dtype whose shapes may be the same."""
    if not isinstance(a, TensorType) or not isinstance(b, TensorType):
        return False
    return a.dtype == b.dtype and same_shape(a.shape, b.shape)


class _Asking(Known):
    """A reporter that notes the elements whose number a run decides."""

    def __init__(self) -> None:
        self.required: list[RequiredElements] = []

    def require_elements(self, extents: Sequence[Dim], results: Sequence[Dim], message: str, least: int = 1) -> None:
        required = require(extents, results, message, least)
        if not required.are_certain:
            self.required.append(required)


def undecided_elements(attrs: Operator, types: Sequence[Type | None]) -> list[RequiredElements]:
    """The elements that a call of an operator requires of arguments of these types, as far as a run decides whether they are there."""
    known = [t for t in types if t is not None]
    if len(known) < len(types) or not any(map(_is_undecided, known)):
        return []
    asking = _Asking()
    attrs.relate(known, asking)
    return asking.required


def _is_undecided(t: Type) -> bool:
    return any(
        isinstance(x, TensorType) and not all(isinstance(d, int) and is_known(d) for d in x.shape)
        for x in type_leaves(t)
    )


def type_of_value(value: Any, t: Type) -> Type:
    """The type of an array, or a tuple of arrays, with the dtypes of `t`."""
    if isinstance(t, TupleType):
        return TupleType(tuple(type_of_value(v, f) for v, f in zip(value, t.fields, strict=True)))
    return TensorType(tuple(value.shape), t.dtype) if isinstance(t, TensorType) else t
