"""Families of operators, by which nodes are coloured for a reader's first look."""

from __future__ import annotations

from typing import Any

from ..ops.pattern import Pattern

FAMILIES = {
    "product": "products",
    "norm": "normalizations",
    "pool": "pooling",
    "elementwise": "elementwise",
    "shape": "shapes and indices",
    "reduce": "reductions",
    "quantized": "quantized",
    "function": "functions",
    "weights": "computed from weights",
    "input": "inputs and outputs",
    "parallel": "parallel loops",
    "serial": "serial loops",
    "vectorized": "vectorized loops",
    "unrolled": "unrolled loops",
    "other": "others",
}
"""Names of the families in a legend, in its order."""

_MODULES = {
    "pool": "pool",
    "adaptive_pool": "pool",
    "pool_grad": "pool",
    "norm": "norm",
    "softmax": "norm",
    "length_norm": "norm",
    "dense": "product",
    "reduce": "reduce",
}
_PATTERNS = {
    Pattern.ELEMWISE: "elementwise",
    Pattern.BROADCAST: "elementwise",
    Pattern.INJECTIVE: "shape",
    Pattern.COMM_REDUCE: "reduce",
    Pattern.OUT_ELEMWISE_FUSABLE: "product",
}


def family_of(operator: Any) -> str:
    """The family of an operator's class: that of its module where that says it, otherwise that of its fusion pattern."""
    if operator.name.startswith("qnn."):
        return "quantized"
    module = operator.__module__.rpartition(".")[2]
    return _MODULES.get(module) or _PATTERNS.get(operator.pattern, "other")
