"""MarkCompilerFunctionsAsExtern: functions that another compiler has compiled are external."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Module, with_function
from .core.base import ModulePass, register_pass
from .core.context import PassContext
from .partition.compiler_functions import is_compiler_function


@register_pass("MarkCompilerFunctionsAsExtern")
@dataclass(frozen=True)
class MarkCompilerFunctionsAsExtern(ModulePass):
    """Marks global functions for other compilers as external, after these have compiled them.

    ::

        def @npu_0(%y, Compiler="npu", global_symbol="npu_0") { exp(%y) }  ⇒  def @npu_0(%y, Extern=1) { exp(%y) }

    `Extern` takes the place of all other attributes; calls stay as they are. With `compiler_filter`, only functions for that
    compiler are marked.
    """

    compiler_filter: str = ""

    takes_open_types = True

    def transform(self, module: Module, context: PassContext) -> Module:
        functions = {
            name: with_function(f, attrs={"Extern": 1}) if is_compiler_function(f, self.compiler_filter) else f
            for name, f in module.functions.items()
        }
        return module.with_functions(functions)
