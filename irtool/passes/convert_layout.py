"""ConvertLayout: operators in the layouts that the user wishes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..ir import Call, Function, Module
from ..ops.base import operators
from .core.base import FunctionPass, register_pass
from .core.context import PassContext
from .core.option_values import require_operator
from .layouts.desired import find_conversion, require_layouts, with_layouts
from .layouts.rewriter import change_layouts


@register_pass("ConvertLayout", level=3, required=("InferType", "CanonicalizeOps"))
@dataclass(frozen=True)
class ConvertLayout(FunctionPass):
    """Converts operators to the desired layouts and propagates these through their neighbours.

    ::

        nn.relu(nn.conv2d(%x, %w))      with desired_layouts={"nn.conv2d": ["NHWC", "default"]}
            ⇒  %0 = layout_transform(%x, src_layout="NCHW", dst_layout="NHWC")
               %1 = layout_transform(%w, src_layout="OIHW", dst_layout="HWIO")
               layout_transform(nn.relu(nn.conv2d(%0, %1, …)), src_layout="NHWC", dst_layout="NCHW")

    `desired_layouts` maps operators to the layouts of data and kernel, pools to one layout; `default` lets the kernel follow
    the data. An operator that cannot be converted stays as it is, with a warning.
    """

    desired_layouts: dict

    def __hash__(self) -> int:
        return hash(tuple(self.desired_layouts))

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        desired: Mapping[str, Any] = self.desired_layouts
        for name, layouts in desired.items():
            require_operator(name, "desired_layouts")
            if find_conversion(operators.get(name)) is None:
                context.warn(f"{name} keeps its layout: ConvertLayout has no rule for it")
            require_layouts(name, layouts)

        def change(old: Call, new: Call) -> Call | None:
            layouts = desired.get(old.op_name)
            return None if layouts is None else with_layouts(old, new, tuple(layouts))

        return change_layouts(function, change)
