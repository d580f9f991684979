"""Sets of operators with integer forms, by their role in a layer.

A layer is a *head* with *followers*, computed together without rounding in between: a convolution, its bias and its relu.
What an operator becomes in integers is a matter of `FakeQuantizationToInteger`; operators that it has no rule for are in none
of the sets.
"""

from __future__ import annotations

from ...ir import Expr
from ...ops.base import called_operator

CONVOLUTIONS = ("nn.conv2d", "nn.conv2d_transpose")

MATRIX_PRODUCTS = ("nn.dense", "nn.batch_matmul")

PRODUCTS = frozenset({*CONVOLUTIONS, *MATRIX_PRODUCTS})
"""Sums of products, for which quantization pays. They are quantized whenever their operands can be."""

JOINS = frozenset(
    {
        "add",
        "subtract",
        "multiply",
        "maximum",
        "minimum",
        "concatenate",
        "sigmoid",
        "tanh",
        "hardswish",
        "nn.leaky_relu",
        "nn.avg_pool2d",
        "nn.global_avg_pool2d",
        "nn.adaptive_avg_pool1d",
    }
)
"""Operators that are quantized between quantized layers, so that values need not become real numbers for them."""

FOLLOWERS = frozenset({"nn.bias_add", "nn.relu", "clip"})
"""Operators that are computed on the accumulators of the layer before them."""

_UNMOVED = frozenset({"max", "min"})
"""Operators that work on integers as they are, but are reductions whose result rarely meets a product."""


def is_mover(e: Expr) -> bool:
    """True for a call that moves or picks elements: the integers of its result have the scale of its operand's."""
    operator = called_operator(e)
    return operator is not None and operator.integer_form == "same" and operator.name not in _UNMOVED
