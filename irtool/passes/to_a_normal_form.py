"""ToANormalForm: every intermediate value gets a name."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Function, Module
from .core.base import ModulePass, register_pass
from .core.context import PassContext
from .core.let_binding import FreshVars, bind


@register_pass("ToANormalForm", level=1)
@dataclass(frozen=True)
class ToANormalForm(ModulePass):
    """Binds every non-atomic value with `let`, in the scope of its evaluation.

    ::

        multiply(add(%x, %y), add(%x, %y))
            ⇒  let %x_0 = add(%x, %y); let %x_1 = add(%x, %y); let %x_2 = multiply(%x_0, %x_1); %x_2

    A shared node is bound once. Afterwards, all operands are variables, operators, constructors or global names, and the
    text gives the order of evaluation.
    """

    takes_open_types = True

    def transform(self, module: Module, context: PassContext) -> Module:
        names = FreshVars()
        functions = dict(module.functions)
        for name, function in module.functions.items():
            if isinstance(function, Function) and "Compiler" not in function.attrs:
                functions[name] = bind(function, names, every=True)
        return module.with_functions(functions)
