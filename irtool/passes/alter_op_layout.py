"""AlterOpLayout: operators in the layouts that the target's kernels are written for."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Function, Module
from .core.base import FunctionPass, register_pass
from .core.context import PassContext
from .layouts.alteration import altered
from .layouts.rewriter import change_layouts


@register_pass("AlterOpLayout", level=3, required=("InferType",))
@dataclass(frozen=True)
class AlterOpLayout(FunctionPass):
    """Converts convolutions to blocked layouts and propagates these through the operators between them; packs weights of
    dense layers.

    ::

        nn.relu(nn.conv2d(%x, %w))    for a processor with vectors of 8 floats
            ⇒  %0 = layout_transform(%x, src_layout="NCHW", dst_layout="NCHW8c")
               %1 = layout_transform(%w, src_layout="OIHW", dst_layout="OIHW8i8o")
               %2 = nn.relu(nn.contrib_conv2d_NCHWc(%0, %1, …))
               layout_transform(%2, src_layout="NCHW8c", dst_layout="NCHW")

        nn.dense(%x, %w)
            ⇒  nn.contrib_dense_pack(%x, layout_transform(%w, src_layout="NC", dst_layout="NC16n"), …)

    Products of uint8 and int8 are packed for instructions that sum up four of them (`OIHW4i16o4i`, `NC16n4c`). Other operators
    stay, `nn.conv3d` and `nn.deformable_conv2d` among them: TVM 0.10 has no layouts of theirs for processors. Does nothing
    without a target. Weights that are constant are transformed by FoldConstant afterwards.
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        target = context.target
        if target is None or "cpu" not in target.keys:
            return function
        return change_layouts(function, lambda old, new: altered(old, new, target))
