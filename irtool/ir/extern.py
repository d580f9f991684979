"""Functions that are known by their type alone."""

from __future__ import annotations

from dataclasses import dataclass

from ..diagnostics import Span
from .expr import Function
from .types import FuncType, IncompleteType


@dataclass(frozen=True, eq=False, slots=True)
class ExternFunction:
    """A function of a module without a body: it can only be called.

    What it does is not known, so a call of it may read and write any state. It stands in `Module.functions` beside
    `Function` and what has been lowered. Its text form is `extern def @name: fn (float32) -> float32`.
    """

    checked_type: FuncType
    span: Span | None = None

    @classmethod
    def of(cls, function: Function) -> ExternFunction:
        """The function of the same type, without a body."""
        known = function.checked_type
        if not isinstance(known, FuncType):
            params = tuple(p.type_annotation or IncompleteType() for p in function.params)
            known = FuncType(params, function.ret_type or IncompleteType(), function.type_params)
        return cls(known, function.span)
