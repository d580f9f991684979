"""Types as objects of their own."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import FuncType, TensorType, Type
from ..ir.types import rebuild_type, rewrite_type
from ..ops.base import OperatorType


def own_type(t: Type) -> Type:
    """A type that is joined with others by itself: an equal one with new objects in the place of a tensor and of polymorphic functions.

    Joins follow the object, and the same text, or a copy of a function, may have one object at several places.
    """
    if t.__class__ is TensorType:
        return TensorType(t.shape, t.dtype, t.span)  # type: ignore[attr-defined]  # by the class, which mypy does not follow
    if not t.binds_variables:
        return t
    return rewrite_type(t, lambda leaf: leaf, _with_own_functions)


def _with_own_functions(t: Type, kids: Sequence[Type]) -> Type:
    """A type of these parts; a polymorphic function as a new object."""
    if isinstance(t, OperatorType):
        return t
    if isinstance(t, FuncType) and t.type_params:
        *arg_types, ret_type = kids
        return FuncType(tuple(arg_types), ret_type, t.type_params, t.span)
    return rebuild_type(t, kids)
