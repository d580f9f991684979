"""AutoSchedulerLayoutRewrite, MetaScheduleLayoutRewrite: passes that wait for TVM's tuners, which have nothing to say here."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Function, Module
from .core.base import FunctionPass, register_pass
from .core.context import PassContext


class _AfterTuning(FunctionPass):
    """Changes nothing, and warns."""

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        context.warn(
            f"{self.name} changes nothing: builds choose the layouts of weights while they schedule; see `irtool tune`"
        )
        return function


@register_pass("AutoSchedulerLayoutRewrite", level=3, required=("InferType",))
@dataclass(frozen=True)
class AutoSchedulerLayoutRewrite(_AfterTuning):
    """Changes nothing: in TVM, it gives weights the layouts that the auto-scheduler has chosen.

    Builds choose layouts of weights while they schedule kernels; `irtool tune` measures the choices. A warning says so.
    """


@register_pass("MetaScheduleLayoutRewrite", level=3, required=("InferType",))
@dataclass(frozen=True)
class MetaScheduleLayoutRewrite(_AfterTuning):
    """Changes nothing: in TVM, it gives weights the layouts that the meta-schedule database has.

    Builds choose layouts of weights while they schedule kernels; `irtool tune` measures the choices. A warning says so.
    """
