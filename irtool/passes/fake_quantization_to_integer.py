"""FakeQuantizationToInteger: dequantize, float operators, quantize become integer operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..diagnostics import UsageError
from ..ir import Function, Module
from .core.base import FunctionPass, register_pass
from .core.context import PassContext
from .fake_quantization.affine import optional_rules
from .fake_quantization.regions import rewrite_dequantized_inputs, rewrite_regions


@register_pass("FakeQuantizationToInteger", level=0, required=("InferType",))
@dataclass(frozen=True)
class FakeQuantizationToInteger(FunctionPass):
    """Replaces floating-point operators between qnn.dequantize and qnn.quantize by integer operators.

    ::

        qnn.quantize(nn.conv2d(qnn.dequantize(%x, …), qnn.dequantize(%w, …)), %scale, %zero)
            ⇒  qnn.requantize(qnn.conv2d(%x, %w, …), …, %scale, %zero)

    A region with an operator that has no integer form is left unchanged; with `hard_fail`, it is an error. With `use_qat`,
    operators with only dequantized inputs are replaced even if no quantize follows, and their results dequantized.

    `optional_qnn_ops` names operators whose rules came after TVM 0.10 and are followed on request only:
    `["nn.softmax"]` (since 0.13; `qnn.softmax`, which is rough) and `["take"]` (since 0.12, there without request).
    """

    changes: ClassVar[str] = "approximation"
    tolerance: ClassVar[float] = 0.25

    hard_fail: bool = False
    use_qat: bool = False
    optional_qnn_ops: tuple[str, ...] = ()

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        for name in self.optional_qnn_ops:
            if name not in optional_rules():
                have = ", ".join(optional_rules())
                raise UsageError(
                    f"FakeQuantizationToInteger has no optional rule for {name}: there are those of {have}"
                )
        result = rewrite_regions(function, self.hard_fail, self.optional_qnn_ops)
        if self.use_qat:
            from ..infer import infer_expr

            result = rewrite_dequantized_inputs(infer_expr(result, module), self.hard_fail, self.optional_qnn_ops)
        return result
