"""Activations fused with a bias by ONNX Runtime's optimizer."""

from __future__ import annotations

import math

from .....diagnostics import IrError
from ...arithmetic import add, in_single, multiply
from ...mistakes import DamagedModel
from ...operator import OnnxOperator, Result, onnx_operator, since
from ...value import Value


def gelu(x: Value) -> Value:
    """x times the normal distribution up to x."""
    return in_single(x, lambda x: multiply(multiply(x, 0.5), add(multiply(x, math.sqrt(0.5)).call("erf"), 1)))


def fast_gelu(x: Value) -> Value:
    """GELU by its approximation with tanh."""
    return in_single(x, _by_tanh)


def _by_tanh(x: Value) -> Value:
    cube = multiply(multiply(x, x), x)
    inside = multiply(add(x, multiply(cube, 0.044715)), math.sqrt(2 / math.pi))
    return multiply(multiply(x, 0.5), add(inside.call("tanh"), 1))


@onnx_operator("com.microsoft.Gelu", "com.microsoft.BiasGelu", "com.microsoft.FastGelu")
class Gelu(OnnxOperator):
    """GELU of the sum of a tensor and a vector, which may be missing but for BiasGelu; FastGelu by tanh."""

    @since(1)
    def of_sum(self, x: Value, bias: Value | None = None) -> Result:
        name = self.node.key.op_type
        if (name == "Gelu") != (bias is None) and name != "FastGelu":
            raise IrError(f"{name} has {1 if name == 'Gelu' else 2} inputs", code=DamagedModel)
        x = x if bias is None else add(x, bias)
        return fast_gelu(x) if name == "FastGelu" else gelu(x)


@onnx_operator("com.microsoft.QuickGelu")
class QuickGelu(OnnxOperator):
    """x times the sigmoid of `alpha * x`."""

    @since(1)
    def gate(self, x: Value, *, alpha: float = 1.702) -> Result:
        return in_single(x, lambda x: multiply(x, multiply(x, alpha).call("sigmoid")))


@onnx_operator("com.microsoft.BiasSplitGelu")
class BiasSplitGelu(OnnxOperator):
    """The first half of the sum along the last axis times GELU of the second half."""

    @since(1)
    def gate(self, x: Value, bias: Value) -> Result:
        halves = add(x, bias).call("split", indices_or_sections=2, axis=-1)
        from .....ir import TupleGetItem

        first, second = (Value.of(TupleGetItem(halves.expr, k)) for k in range(2))
        return multiply(first, gelu(second))


@onnx_operator("com.microsoft.BiasAdd")
class BiasAdd(OnnxOperator):
    """The sum of a tensor, a vector and another tensor."""

    @since(1)
    def sum(self, x: Value, bias: Value, skip: Value) -> Result:
        return add(add(x, bias), skip)
