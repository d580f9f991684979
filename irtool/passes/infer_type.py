"""InferType: every node gets its type."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Module
from .base import ModulePass, register_pass
from .context import PassContext


@register_pass("InferType", level=0)
@dataclass(frozen=True)
class InferType(ModulePass):
    """Infers the types of everything in the module.

    ::

        fn (%x: Tensor[(2, 3), float32]) { nn.relu(%x) }
            ⇒  fn (%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] { nn.relu(%x) /* ty=Tensor[(2, 3), float32] */ }

    Nodes that already have a type are not looked at again.
    """

    def transform(self, module: Module, context: PassContext) -> Module:
        return context.infer(module)
