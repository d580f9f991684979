"""Operators of com.microsoft that ONNX took over, or that were renamed: each has the meaning of the one that is there now."""

from __future__ import annotations

from ...operator import OnnxOperator, Result, onnx_operator, onnx_operators, since
from ...value import Value

_NEWER = {
    "GatherND": ("GatherND", 13),
    "GridSample": ("GridSample", 16),
    "Pad": ("Pad", 13),
    "Range": ("Range", 11),
    "TransposeMatMul": ("com.microsoft.FusedMatMul", 1),
    "Trilu": ("Trilu", 14),
}
"""The operators by their older names, with the opset whose meaning they have."""


@onnx_operator(*(f"com.microsoft.{name}" for name in _NEWER))
class OlderName(OnnxOperator):
    """The operator of the newer name, as it was when it got that."""

    def meant(self) -> OnnxOperator:
        name, opset = _NEWER[self.node.key.op_type]
        return onnx_operators.get(name)(self.node, self.graph, opset)

    @since(1)
    def renamed(self, *inputs: Value) -> Result:
        raise NotImplementedError("another operator is meant")
