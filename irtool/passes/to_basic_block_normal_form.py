"""ToBasicBlockNormalForm: every shared node is bound where it is evaluated."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Expr, Function, Module
from ..ir.analysis import basic_block_violations
from .core.base import ModulePass, register_pass
from .core.context import PassContext
from .core.let_binding import FreshVars, bind


@register_pass("ToBasicBlockNormalForm", level=1)
@dataclass(frozen=True)
class ToBasicBlockNormalForm(ModulePass):
    """Binds each node with uses in several scopes with `let`, in the innermost scope around all uses.

    ::

        %0 = add(%a, %b); if (%c) { %0 } else { negative(%0) }
            ⇒  let %x_0 = add(%a, %b); if (%c) { %x_0 } else { negative(%x_0) }

    Nodes shared within one scope stay shared. Afterwards, no node is used outside the scope of its first occurrence in the
    text, so that each basic block can be treated separately.
    """

    takes_open_types = True

    def transform(self, module: Module, context: PassContext) -> Module:
        names = FreshVars()
        functions = dict(module.functions)
        for name, function in module.functions.items():
            if isinstance(function, Function) and "Compiler" not in function.attrs:
                functions[name] = bind(function, names, every=False)
        return module.with_functions(functions)


def is_basic_block_normal_form(root: Module | Expr) -> bool:
    """True if the pass has nothing to bind; `ir.analysis.check_basic_block_normal_form` lists the nodes that it would bind."""
    return not basic_block_violations(root)
