"""Functions that are known by their type alone."""

from __future__ import annotations

from dataclasses import dataclass

from ..diagnostics import Span
from .expr import Function
from .types import FuncType, IncompleteType, Type


@dataclass(frozen=True, eq=False, slots=True)
class ExternFunction:
    """A function of a module without a body: all that can be done with it is to call it.

    What it does is not known, so a call of it may read and write any state. It stands in `Module.functions` beside
    `Function` and what has been lowered; `checked_type` is its type, None where that is not known.
    """

    checked_type: Type | None = None
    span: Span | None = None

    @classmethod
    def of(cls, function: Function) -> ExternFunction:
        """The function of the same type, without a body."""
        known = function.checked_type
        if known is None:
            params = tuple(p.type_annotation or IncompleteType() for p in function.params)
            known = FuncType(params, function.ret_type or IncompleteType(), function.type_params)
        return cls(known, function.span)
