"""Comparisons and logic."""

from __future__ import annotations

from typing import ClassVar

from ...onnx.value import Value, apply
from ..operator import Operand, Result, TfliteOperator, tflite_operator
from ..quantities import offset, require_scalar, rescaled, scale_of
from .arithmetic import shifted

_NAMES = {
    "EQUAL": "equal",
    "NOT_EQUAL": "not_equal",
    "LESS": "less",
    "LESS_EQUAL": "less_equal",
    "GREATER": "greater",
    "GREATER_EQUAL": "greater_equal",
    "LOGICAL_AND": "logical_and",
    "LOGICAL_OR": "logical_or",
}
_BITS = 8
"""Bits behind the point of quantized operands."""


@tflite_operator("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
class Comparison(TfliteOperator):
    """Comparisons; quantized operands are compared as fixed-point numbers."""

    def convert(self, a: Operand, b: Operand) -> Result:
        if a.q is not None and b.q is not None and a.dtype in ("int8", "uint8"):
            return apply(_NAMES[self.node.op_type], _fixed(a), _fixed(b))
        return apply(_NAMES[self.node.op_type], a.value, b.value)


def _fixed(x: Operand) -> Value:
    return rescaled(shifted(offset(x), _BITS), scale_of(require_scalar(x)))


@tflite_operator("LOGICAL_AND", "LOGICAL_OR")
class Logic(TfliteOperator):
    """Both, or one of both."""

    types: ClassVar[tuple[str, ...]] = ("bool",)

    def convert(self, a: Operand, b: Operand) -> Result:
        return apply(_NAMES[self.node.op_type], a.value, b.value)


@tflite_operator("LOGICAL_NOT")
class Not(TfliteOperator):
    """The opposite."""

    types: ClassVar[tuple[str, ...]] = ("bool",)

    def convert(self, x: Operand) -> Result:
        return x.call("logical_not")


@tflite_operator("SELECT", "SELECT_V2")
class Select(TfliteOperator):
    """One of two elements; with a condition of one axis, one of two rows."""

    types: ClassVar[tuple[str, ...]] = ("bool",)

    def convert(self, condition: Operand, a: Operand, b: Operand) -> Result:
        c = condition.value
        if self.node.op_type == "SELECT" and c.rank == 1 and a.rank > 1:
            c = c.call("reshape", newshape=[-1] + [1] * (a.rank - 1))
        return apply("where", c, a.value, b.value)
