"""InferType: every node gets its type."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Module
from .core.base import ModulePass, register_pass
from .core.context import PassContext


@register_pass("InferType", level=0)
@dataclass(frozen=True)
class InferType(ModulePass):
    """Infers the types of everything in the module.

    ::

        fn (%x: Tensor[(2, 3), float32]) { nn.relu(%x) }
            ⇒  fn (%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] { nn.relu(%x) /* ty=Tensor[(2, 3), float32] */ }

    Nodes that already have a type are skipped.

    Options:
        partial: infer what can be inferred, as NNVM's InferShape and InferType do: sweeps forwards and backwards until no
            more becomes known. What stays unknown is left without a type, and counted in a warning, instead of failing.
        shapes: shapes of parameters of `@main` that are dynamic or have no type, by name: `{"x": [1, 3, 224, 224]}`.
        dtypes: dtypes of parameters of `@main` that have no type, by name.
    """

    partial: bool = False
    shapes: dict | None = None
    dtypes: dict | None = None

    def __hash__(self) -> int:
        return hash((self.partial, *(self.shapes or ()), *(self.dtypes or ())))

    @property
    def needs_types(self) -> bool:
        return not (self.partial or self.shapes or self.dtypes)

    def transform(self, module: Module, context: PassContext) -> Module:
        if not self.partial:
            from ..infer import specialize

            specialized = specialize(module, "main", self.shapes, self.dtypes, warn=context.note)
            return context.infer(specialized)
        from ..infer import infer_partial

        inferred = infer_partial(module, self.shapes, self.dtypes)
        if inferred.shape_num_unknown_nodes or inferred.dtype_num_unknown_nodes:
            context.warn(
                f"shape_num_unknown_nodes={inferred.shape_num_unknown_nodes} "
                f"dtype_num_unknown_nodes={inferred.dtype_num_unknown_nodes}"
            )
        return inferred.module
