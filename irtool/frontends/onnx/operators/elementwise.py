"""Operators that take one tensor apart element by element."""

from __future__ import annotations

from ..operator import OnnxOperator, Result, onnx_operator, since
from ..value import Value, apply

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


@onnx_operator("Round")
class Round(OnnxOperator):
    """Elements rounded to the nearest integer, halves to the even one (Relay's `round` takes them away from zero)."""

    @since(11, 22)
    def to_even(self, x: Value) -> Result:
        two, half = Value.constant(2, x.dtype), Value.constant(0.5, x.dtype)
        ties = x.call("subtract", x.call("trunc")).call("abs").call("equal", half)
        even = x.call("divide", two).call("round").call("multiply", two)
        return apply("where", ties, even, x.call("round"))
