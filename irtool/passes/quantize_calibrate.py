"""QuantizeCalibrate: values for the scales of simulated rounding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..diagnostics import UsageError
from ..ir import Function, Module
from .auto_quantization.annotation import ACTIVATION, INPUT, WEIGHT
from .auto_quantization.scales import MODES, rounded_data, with_scales
from .core.base import FunctionPass, register_pass
from .core.context import PassContext
from .core.mistakes import WrongPassOption


@register_pass("QuantizeCalibrate", level=1)
@dataclass(frozen=True)
class QuantizeCalibrate(FunctionPass):
    """Gives scales and limits of simulated rounding their values: the third step of TVM's `relay.quantize`.

    ::

        relay.op.annotation.simulated_quantize(%x, %dom_scale, %clip_min, %clip_max, kind=1)
            ⇒  relay.op.annotation.simulated_quantize(%x, 0.0625f, -127f, 127f, kind=1)

    The scale of data is `global_scale` in the mode `global_scale`; in the modes `kl_divergence` and `percentile` it is one of
    `scales`, the greatest value of each rounded tensor in order, which `irtool quantize --mode=tvm` finds from samples. The scale of
    weights is their largest magnitude (`weight_scale="max"`) or the next power of two (`power2`). `nbit_…` are the bits of a kind.
    """

    changes: ClassVar[str] = "interface"

    nbit_input: int = 8
    nbit_weight: int = 8
    nbit_activation: int = 32
    calibrate_mode: str = "global_scale"
    global_scale: float = 8.0
    weight_scale: str = "power2"
    scales: tuple[float, ...] = ()

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        if self.calibrate_mode not in MODES:
            raise UsageError(
                f"calibrate_mode is one of {', '.join(MODES)}, not {self.calibrate_mode}", code=WrongPassOption
            )
        if self.weight_scale not in ("power2", "max"):
            raise UsageError(f"weight_scale is power2 or max, not {self.weight_scale}", code=WrongPassOption)
        is_global = self.calibrate_mode == "global_scale"
        if not is_global and not self.scales and rounded_data(function):
            raise UsageError(
                f"the mode {self.calibrate_mode} takes scales from samples, and there are none",
                help="irtool quantize --mode=tvm --calibrate finds them",
                code=WrongPassOption,
            )
        bits = {INPUT: self.nbit_input, WEIGHT: self.nbit_weight, ACTIVATION: self.nbit_activation}
        return with_scales(function, bits, self.weight_scale, self.global_scale if is_global else self.scales)
