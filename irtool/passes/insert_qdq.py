"""InsertQDQ: quantize and dequantize around the layers that are to be computed in integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..diagnostics import UsageError
from ..ir import Function, Module
from .core.base import FunctionPass, register_pass
from .core.context import PassContext
from .core.mistakes import WrongPassOption
from .qdq_insertion.insertion import Insertion
from .qdq_insertion.plan import plan_quantization


@register_pass("InsertQDQ", level=0, required=("InferType",))
@dataclass(frozen=True)
class InsertQDQ(FunctionPass):
    """Rounds the operands of convolutions, matrix products and the operators between them to 8 bits.

    ::

        nn.relu(nn.bias_add(nn.conv2d(%x, weights), bias))
            ⇒  nn.relu(nn.bias_add(nn.conv2d(dequantize(quantize(%x, …)), dequantize(int8 weights, scale by channel)), bias))

    `FakeQuantizationToInteger{use_qat=True}` computes the result in integers; `irtool quantize` does both, and finds the ranges.
    `CanonicalizeQuantizable` should run before.

    `ranges` has the least and greatest value of each rounded tensor, in the order of evaluation. A tensor is rounded where a
    quantized layer takes it. Weights are symmetric, with a scale for each output channel; activations have one zero point and
    one scale, `dtype` is theirs (uint8 or int8). Biases become int32, in units of the products; they, relu and clip are computed
    on the accumulators. Additions, products of tensors, averages, concatenations, and table functions are quantized between
    quantized layers only; a layer whose result is used by nothing quantized gives real numbers. `keep` has regular expressions
    for names of layers that stay as they are.

    Sums of products that may not fit into int32 are an error; see docs/quantization.md.
    """

    changes: ClassVar[str] = "approximation"
    tolerance: ClassVar[float] = 0.25

    ranges: tuple[tuple[float, float], ...] = ()
    keep: tuple[str, ...] = ()
    dtype: str = "uint8"

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        if self.dtype not in ("uint8", "int8"):
            raise UsageError(f"dtype of InsertQDQ is uint8 or int8, not {self.dtype}", code=WrongPassOption)
        plan = plan_quantization(function, self.keep)
        if not plan.layers:
            return function
        return Insertion(function, plan, self.ranges, self.dtype).function
