"""ToANormalForm: every intermediate value gets a name."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Function, Module
from .base import ModulePass, register_pass
from .context import PassContext
from .let_binding import Names, bind


@register_pass("ToANormalForm", level=1)
@dataclass(frozen=True)
class ToANormalForm(ModulePass):
    """Binds every value that is not atomic with `let`, in the scope in which it is evaluated.

    ::

        multiply(add(%x, %y), add(%x, %y))
            ⇒  let %x_0 = add(%x, %y); let %x_1 = add(%x, %y); let %x_2 = multiply(%x_0, %x_1); %x_2

    A shared node is bound once. Afterwards operands are variables, operators, constructors and global names only; what
    is evaluated, and in which order, can be read off the text.
    """

    takes_open_types = True

    def transform(self, module: Module, context: PassContext) -> Module:
        names = Names()
        functions = dict(module.functions)
        for name, function in module.functions.items():
            if isinstance(function, Function) and "Compiler" not in function.attrs:
                functions[name] = bind(function, names, every=True)
        return module.with_functions(functions)
