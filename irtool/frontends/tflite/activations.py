"""Activations that operators apply to their results."""

from __future__ import annotations

from ...diagnostics import IrError
from ..onnx.mistakes import DamagedModel, UnsupportedNode
from ..onnx.value import Value

NAMES = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT")
"""Names by number, in the order of the schema."""


def activation_name(number: int) -> str:
    """The name of an activation. Raises IrError for an unknown number."""
    if not 0 <= number < len(NAMES):
        raise IrError(f"there is no activation {number}", code=DamagedModel)
    return NAMES[number]


def activated(x: Value, number: int) -> Value:
    """Real numbers, or integers without a scale, behind an activation."""
    name = activation_name(number)
    if name == "NONE":
        return x
    if name == "RELU":
        return x.call("nn.relu")
    if name in ("RELU6", "RELU_N1_TO_1"):
        return x.call("clip", a_min=0.0 if name == "RELU6" else -1.0, a_max=6.0 if name == "RELU6" else 1.0)
    if name == "TANH":
        return x.call("tanh")
    raise IrError(f"the activation {name} has no form in Relay", code=UnsupportedNode)
