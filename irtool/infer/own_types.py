"""Types as objects of their own."""

from __future__ import annotations

from ..ir import FuncType, TensorType, Type
from ..ir.types import quantified, rebuild_type, type_children
from ..ops.base import OperatorType


def own_type(t: Type) -> Type:
    """A type that is joined with others by itself: an equal one with new objects in the place of a tensor and of polymorphic functions.

    Joins follow the object, and the same text, or a copy of a function, may have one object at several places.
    """
    if t.__class__ is TensorType:
        return TensorType(t.shape, t.dtype, t.span)  # type: ignore[attr-defined]  # by the class, which mypy does not follow
    if not t.is_generic or not quantified(t):
        return t
    copies: dict[int, Type] = {}
    stack = [(t, False)]
    while stack:
        part, ready = stack.pop()
        if id(part) in copies:
            continue
        kids = type_children(part) if part.is_generic and not isinstance(part, OperatorType) else ()
        if not kids:
            copies[id(part)] = part
        elif not ready:
            stack.append((part, True))
            stack += [(k, False) for k in kids]
        elif isinstance(part, FuncType) and part.type_params:
            *arg_types, ret_type = (copies[id(k)] for k in kids)
            copies[id(part)] = FuncType(tuple(arg_types), ret_type, part.type_params, part.span)
        else:
            copies[id(part)] = rebuild_type(part, [copies[id(k)] for k in kids])
    return copies[id(t)]
