"""QuantizePartition: hints where sections of low precision end."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Function, Module
from .auto_quantization.partition import partition
from .core.base import FunctionPass, register_pass
from .core.context import PassContext


@register_pass("QuantizePartition", level=1)
@dataclass(frozen=True)
class QuantizePartition(FunctionPass):
    """Cuts a network into sections of low precision: the first step of TVM's `relay.quantize`.

    ::

        nn.conv2d(nn.relu(nn.conv2d(%x, %w)), %v)
            ⇒  nn.conv2d(annotation.stop_fusion(annotation.cast_hint(nn.relu(nn.conv2d(%x, %w)), dtype="int8")), %v)

    What follows a convolution (relu, clip, max_pool2d, additions of constants) belongs to its section. `dtype_input` is the
    type between sections.
    """

    dtype_input: str = "int8"

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        return partition(function, self.dtype_input)
