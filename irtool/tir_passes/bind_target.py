"""tir.BindTarget: notes the target of loop nests."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Module
from ..ir.target import Target
from ..passes.core.base import register_pass
from ..passes.core.context import PassContext
from ..tir.stmt import PrimFunc
from .prim_func_pass import PrimFuncPass


@register_pass("tir.BindTarget", aliases=("BindTarget",))
@dataclass(frozen=True)
class BindTarget(PrimFuncPass):
    """Sets the attribute `target` of functions.

    ::

        attr = {"global_symbol": "f"}    ⇒    attr = {"global_symbol": "f", "target": Target(…, kind='llvm', …)}

    Options:
        target: the target, such as `"llvm -mcpu=skylake"`; if empty, that of the pass context (`--target`), or else `c`, as LowerTE
            assumes.
    """

    target: str = ""

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        target = Target.parse(self.target) if self.target else context.target or Target("c")
        return function.with_body(function.body, target=target.record())
