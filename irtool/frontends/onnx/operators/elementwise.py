"""Operators that take one tensor apart element by element."""

from __future__ import annotations

from ..operator import OnnxOperator, Result, onnx_operator, since
from ..value import Value

UNARY = {
    "Abs": "abs",
    "Acos": "acos",
    "Acosh": "acosh",
    "Asin": "asin",
    "Asinh": "asinh",
    "Atan": "atan",
    "Atanh": "atanh",
    "Ceil": "ceil",
    "Cos": "cos",
    "Cosh": "cosh",
    "Erf": "erf",
    "Exp": "exp",
    "Floor": "floor",
    "Log": "log",
    "Neg": "negative",
    "Not": "logical_not",
    "Relu": "nn.relu",
    "Round": "round",
    "Sigmoid": "sigmoid",
    "Sign": "sign",
    "Sin": "sin",
    "Sinh": "sinh",
    "Sqrt": "sqrt",
    "Tan": "tan",
    "Tanh": "tanh",
}


@onnx_operator(*UNARY)
class Unary(OnnxOperator):
    """Elementwise functions that Relay has under another name, or its own."""

    @since(1, 6, 13, 14)
    def elementwise(self, x: Value) -> Result:
        return x.call(UNARY[self.node.op_type])
