"""InlineCompilerFunctionsBoundTo: partitioning is undone for some functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..diagnostics import IrError, nearest
from ..ir import Call, Expr, Function, GlobalVar, Module, global_names, rewrite
from .core.base import ModulePass, is_optimizable, register_pass
from .core.beta_reduction import BetaReducer
from .core.context import PassContext
from .partition.compiler_functions import is_compiler_function


@register_pass("InlineCompilerFunctionsBoundTo")
@dataclass(frozen=True)
class InlineCompilerFunctionsBoundTo(ModulePass):
    """Inlines the functions for other compilers named in `global_vars` into their callers.

    ::

        def @npu_0(%y, Compiler="npu") { fn (%z, Composite="npu.act") { nn.relu(%z) }(%y) }
        def @main(%x) { @npu_0(exp(%x)) }
            ⇒  def @main(%x) { nn.relu(exp(%x)) }

    Composite functions called by such a body are inlined, too. The functions are then removed from the module.
    """

    global_vars: tuple[str, ...]

    def transform(self, module: Module, context: PassContext) -> Module:
        names = [n.removeprefix("@") for n in self.global_vars]
        bodies = {n: _without_composites(_compiler_function(module, n)) for n in names}
        if not bodies:
            return module
        reducer = BetaReducer()

        def leave(old: Expr, new: Expr) -> Expr:
            if isinstance(new, Call) and isinstance(new.op, GlobalVar) and new.op.name in bodies:
                return reducer.body(bodies[new.op.name], new.args, new)
            return new

        functions = {}
        for name, function in module.functions.items():
            if name in bodies:
                continue
            functions[name] = rewrite(function, leave) if is_optimizable(function) else function
        _check_gone(functions, names)
        return module.with_functions(functions)


def _compiler_function(module: Module, name: str) -> Function:
    function = module.functions.get(name)
    if function is None:
        raise IrError(f"there is no function @{name} to inline", help=nearest(name, module.functions))
    if not is_compiler_function(function):
        raise IrError(f"@{name} is no function for another compiler: it lacks the attribute Compiler", function.span)
    return function


def _without_composites(function: Function) -> Function:
    reducer = BetaReducer()

    def leave(old: Expr, new: Expr) -> Expr:
        if isinstance(new, Call) and isinstance(new.op, Function) and "Composite" in new.op.attrs:
            return reducer.body(new.op, new.args, new)
        return new

    return rewrite(function, leave)


def _check_gone(functions: Mapping[str, Any], removed: Sequence[str]) -> None:
    for name, f in functions.items():
        if not isinstance(f, Function):
            continue
        still = [n for n in global_names(f) if n in removed]
        if still:
            raise IrError(
                f"@{name} uses @{still[0]} other than by calling it, so that it cannot be inlined there", f.span
            )
