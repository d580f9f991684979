"""QuantizeRealize: integers in place of simulated rounding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..diagnostics import UsageError
from ..ir import Function, Module
from .auto_quantization.realization import Integers, realize
from .core.base import FunctionPass, register_pass
from .core.context import PassContext
from .core.mistakes import WrongPassOption


@register_pass("QuantizeRealize", level=1, required=("InferType",))
@dataclass(frozen=True)
class QuantizeRealize(Integers, FunctionPass):
    """Computes simulated rounding in integers: the last step of TVM's `relay.quantize`.

    ::

        nn.conv2d(simulated_quantize(%x, 0.0625f, -127f, 127f, kind=1), simulated_quantize(weights, …, kind=2))
            ⇒  multiply(cast(nn.conv2d(cast(clip(round(multiply(%x, 16f)))), int8 weights, out_dtype="int32"), "float32"), scale)

    Between two scales whose quotient is a power of two there is a shift, which `round_for_shift` rounds; else a product in fixed
    point, `rounding` UPWARD or TONEAREST. `global_scale` and `nbit_activation` give the scale of concatenations of more than two.
    """

    changes: ClassVar[str] = "approximation"
    tolerance: ClassVar[float] = 0.25

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        if self.rounding not in ("UPWARD", "TONEAREST"):
            raise UsageError(f"rounding is UPWARD or TONEAREST, not {self.rounding}", code=WrongPassOption)
        return realize(function, self)
