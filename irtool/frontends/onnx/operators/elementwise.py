"""Operators that take one tensor apart element by element."""

from __future__ import annotations

from ..operator import OnnxOperator, Result, onnx_operator, since
from ..value import Value

UNARY = {
    "BitwiseNot": "bitwise_not",
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
    "IsNaN": "isnan",
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

    @since(1, 6, 7, 9, 11, 13, 14, 18, 20, 22)
    def elementwise(self, x: Value) -> Result:
        return x.call(UNARY[self.node.op_type])


@onnx_operator("Reciprocal")
class Reciprocal(OnnxOperator):
    """One divided by each element."""

    @since(6, 13)
    def inverse(self, x: Value) -> Result:
        return Value.constant(1, x.dtype).call("divide", x)
