"""PartialEvaluate: the program is run as far as it can be without its inputs."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Function, Module
from .core.base import ModulePass, register_pass
from .core.context import PassContext
from .core.instantiation import settle_type_arguments
from .core.sharing import require_tree
from .partial.evaluator import Evaluator


@register_pass("PartialEvaluate", level=1, info_name="PartialEval")
@dataclass(frozen=True)
class PartialEvaluate(ModulePass):
    """Evaluates all expressions independent of unknown inputs: calls of known functions, matches and branches on known values,
    references, operators on constants.

    ::

        let %f = fn (%x) { add(%x, 1f) }; %f(%f(%y))
            ⇒  let %f = fn (%x) { … }; let %x_0 = 1f; let %x_1 = add(%y, %x_0); let %x_2 = 1f; add(%x_1, %x_2)

    Recursion is unrolled while an argument gets smaller. The result is in A-normal form with dead code: run
    DeadCodeElimination afterwards. The input must not share nodes (run ToANormalForm first).
    """

    def transform(self, module: Module, context: PassContext) -> Module:
        for f in module.functions.values():
            if isinstance(f, Function):
                require_tree(f, self.name)
        evaluator = Evaluator(settle_type_arguments(module))
        evaluator.run()
        return module.with_functions(evaluator.functions)
