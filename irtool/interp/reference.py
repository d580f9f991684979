"""Calls of an operator's numpy reference, within the bounds that the type of the call gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..diagnostics import IrError, Span
from ..ir import TensorType, TupleType, Type, tuple_leaves
from ..ops.base import Operator
from ..ops.empty import evaluate_nothing, has_no_elements
from ..ops.known import Known, type_of_value, undecided_elements
from ..ops.plugin_checks import checked_evaluate


def reference(
    attrs: Operator, type: Type | None, arguments: Sequence[Type | None] = (), span: Span | None = None
) -> Callable[..., Any]:
    """The reference of an operator with these attributes in a call of that type at `span`, of arguments of these types.

    It computes nothing where the result has no elements, and refuses a result that the type leaves no room for: how large
    that of an operator with `shape_from_data` is, is seen only now. It refuses arguments without the elements that the result needs.
    """
    evaluate = _within(attrs, type, span)
    if not undecided_elements(attrs, arguments):
        return evaluate

    known = [t for t in arguments if t is not None]

    def with_elements(*values: Any) -> Any:
        attrs.relate([type_of_value(v, t) for v, t in zip(values, known, strict=True)], Known())
        return evaluate(*values)

    return with_elements


def _within(attrs: Operator, type: Type | None, span: Span | None) -> Callable[..., Any]:
    """The reference, within the bounds of the type."""
    evaluate = checked_evaluate(attrs, type, span)
    if type is None:
        return evaluate
    leaves = [t for t in tuple_leaves(type) if isinstance(t, TensorType)]
    if has_no_elements(leaves) and len(leaves) == len(list(tuple_leaves(type))):
        flat = not isinstance(type, TupleType) or all(isinstance(t, TensorType) for t in type.fields)
        empty_result = evaluate_nothing(attrs.__class__, leaves, isinstance(type, TupleType)) if flat else None
        return empty_result or evaluate
    if not attrs.shape_from_data or not isinstance(type, TensorType):
        return evaluate

    def checked(*arguments: Any) -> Any:
        result = evaluate(*arguments)
        shape = getattr(result, "shape", None)
        if shape is not None and not _has_room(type, shape):
            raise IrError(f"{attrs.name} gives the shape {tuple(shape)}, which is not of the type {type}")
        return result

    return checked


def _has_room(type: TensorType, shape: tuple[int, ...]) -> bool:
    return len(shape) == len(type.shape) and all(
        not isinstance(d, int) or d == n for d, n in zip(type.shape, shape, strict=True)
    )
