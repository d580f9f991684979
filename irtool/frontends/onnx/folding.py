"""Evaluation of values while a model is imported: shapes, axes and scales become constants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ...interp.evaluate import evaluate_expr
from ...ir import Constant, Expr, TensorType, post_order, tuple_leaves
from ...passes.core.folding_budget import FoldingBudget
from .value import Value

_LARGEST_FOLDED = 1 << 20
"""Elements of a tensor that is evaluated while importing."""
_ALWAYS_FOLDED, _ITEM_BYTES = 1 << 10, 8
"""Most elements of tensors outside the budget: shapes, axes, scales; and the bytes of an element, at most."""


def folded(value: Value, inputs: Sequence[Value | None], budget: FoldingBudget) -> Value:
    """The value, evaluated if all its operands are known and the budget allows it."""
    if value.known is not None or not isinstance(value.type, TensorType):
        return value
    operands = [i for i in inputs if i is not None]
    if any(i.known is None or i.parameter for i in operands) or not all(_is_small(e) for e in post_order(value.expr)):
        return value
    elements = math.prod(value.type.extents or ())
    arrays = [i.known for i in operands if i.known is not None]
    if elements > _ALWAYS_FOLDED and not budget.admits_array(elements, _ITEM_BYTES, arrays):
        return value
    return replace(Value.constant(evaluate_expr(value.expr), value.dtype), narrow=value.narrow)


def _is_small(e: Expr) -> bool:
    """True if an expression can be evaluated in little memory, intermediate results included."""
    if isinstance(e, Constant) or e.checked_type is None:
        return True
    shapes = [t.extents for t in tuple_leaves(e.checked_type) if isinstance(t, TensorType)]
    return all(shape is not None and math.prod(shape) <= _LARGEST_FOLDED for shape in shapes)
