"""QuantizeAnnotate: simulated rounding around operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..ir import Function, Module
from .auto_quantization.annotation import Annotator
from .core.base import FunctionPass, register_pass
from .core.context import PassContext


@register_pass("QuantizeAnnotate", level=1)
@dataclass(frozen=True)
class QuantizeAnnotate(FunctionPass):
    """Rounds the operands of convolutions, of dense layers and of operators after them: the second step of TVM's `relay.quantize`.

    ::

        nn.conv2d(%x, %w)
            ⇒  nn.conv2d(relay.op.annotation.simulated_quantize(%x, %dom_scale, %clip_min, %clip_max, kind=1),
                         relay.op.annotation.simulated_quantize(%w, %dom_scale1, %clip_min1, %clip_max1, kind=2))

    Scales and limits are new parameters, for which `QuantizeCalibrate` finds values. Kinds are 1 (operand), 2 (weight) and 3
    (accumulator). Convolutions whose number is among `skip_conv_layers` (None: none) stay as they are, and dense layers with
    `skip_dense_layer`; `debug_enabled_ops` names the only operators that are looked at. After nn.global_avg_pool2d nothing is rounded.
    """

    changes: ClassVar[str] = "interface"

    skip_dense_layer: bool = True
    skip_conv_layers: tuple[int, ...] | None = (0,)
    debug_enabled_ops: tuple[str, ...] | None = None

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        return Annotator(self.skip_dense_layer, self.skip_conv_layers, self.debug_enabled_ops).run(function)
