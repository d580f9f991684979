"""Operators on two tensors, or any number of them, that broadcast against each other."""

from __future__ import annotations

from ....diagnostics import IrError
from ..mistakes import DamagedModel
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..value import Value, apply

BINARY = {
    "Add": "add",
    "And": "logical_and",
    "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
    "Div": "divide",
    "Equal": "equal",
    "Greater": "greater",
    "GreaterOrEqual": "greater_equal",
    "Less": "less",
    "LessOrEqual": "less_equal",
    "Mul": "multiply",
    "Or": "logical_or",
    "Sub": "subtract",
    "Xor": "logical_xor",
}


def part_of(a: Value, b: Value, axis: int | None) -> Value:
    """The second operand as broadcasting by an axis wants it: its first axis belongs to that one of the first operand."""
    if axis is None or b.rank == 0:
        return b
    behind = a.rank - a.axis(axis) - b.rank
    if behind < 0:
        raise IrError(f"{b.tensor} is no part of {a.tensor} from axis {axis} on", code=DamagedModel)
    return b.call("expand_dims", axis=b.rank, num_newaxis=behind) if behind else b


@onnx_operator(*BINARY)
class Binary(OnnxOperator):
    """Elementwise operators on two tensors; the quotient of integers is rounded towards zero.

    Before opset 7 the second one was of the first one's shape, or with `broadcast` of a part of it that begins at `axis`.
    """

    @since(1, 6)
    def of_parts(
        self,
        a: Value,
        b: Value,
        *,
        broadcast: int = 0,
        axis: int | None = None,
        consumed_inputs: tuple[int, ...] = (),
    ) -> Result:
        return self.broadcast(a, part_of(a, b, axis) if broadcast else b)

    @since(7, 9, 11, 12, 13, 14, 16, 18, 19)
    def broadcast(self, a: Value, b: Value) -> Result:
        return a.call(BINARY[self.node.op_type], b)


@onnx_operator("Mod")
class Mod(OnnxOperator):
    """The remainder with the sign of the divisor, or with `fmod` that of the dividend."""

    @since(10, 13, 28)
    def remainder(self, a: Value, b: Value, *, fmod: int = 0) -> Result:
        if fmod:
            return a.call("mod", b)
        return self._of_floats(a, b) if a.dtype.startswith(("float", "bfloat")) else a.call("floor_mod", b)

    def _of_floats(self, a: Value, b: Value) -> Value:
        """From the exact remainder of the quotient rounded towards zero, which is right for infinities and small
        numbers, too; 0 has the sign of the divisor.
        """
        zero = Value.constant(0, a.dtype)
        rest = a.call("mod", b)
        apart = rest.call("less", zero).call("not_equal", b.call("less", zero))
        modulus = apply("where", apart, rest.call("add", b), rest)
        return apply("where", rest.call("equal", zero), b.call("sign").call("multiply", zero), modulus)


@onnx_operator("BitShift")
class BitShift(OnnxOperator):
    """Bits shifted to the left or to the right."""

    @since(11, 28)
    def shift(self, x: Value, by: Value, *, direction: str) -> Result:
        if direction not in ("LEFT", "RIGHT"):
            raise IrError(f"direction is {direction}; it can be LEFT or RIGHT")
        return x.call("left_shift" if direction == "LEFT" else "right_shift", by)


@onnx_operator("Pow")
class Pow(OnnxOperator):
    """A power, whose exponent may have another type than its base; the result has the base's."""

    @since(1)
    def of_parts(self, x: Value, exponent: Value, *, broadcast: int = 0, axis: int | None = None) -> Result:
        return self.power(x, part_of(x, exponent, axis) if broadcast else exponent)

    @since(7, 12, 13, 15)
    def power(self, x: Value, exponent: Value) -> Result:
        if exponent.dtype == x.dtype:
            return x.call("power", exponent)
        if exponent.dtype.startswith(("float", "bfloat")) and x.dtype.startswith(("int", "uint")):
            return x.call("cast", dtype=exponent.dtype).call("power", exponent).call("cast", dtype=x.dtype)
        return x.call("power", exponent.call("cast", dtype=x.dtype))


VARIADIC = {"Max": "maximum", "Mean": "add", "Min": "minimum", "Sum": "add"}


@onnx_operator(*VARIADIC)
class Variadic(OnnxOperator):
    """The largest, the smallest, the sum or the mean of any number of tensors, element by element."""

    @since(1, 6, 8, 12, 13)
    def fold(self, first: Value, *rest: Value) -> Result:
        result = first
        for v in rest:
            result = result.call(VARIADIC[self.node.op_type], v)
        if self.node.op_type == "Mean" and rest:
            result = result.call("divide", Value.constant(len(rest) + 1, result.dtype))
        return result
