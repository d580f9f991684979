"""OutlineCompilerFunctionsWithExistingGlobalSymbols: local functions for other compilers become global ones."""

from __future__ import annotations

from dataclasses import dataclass

from ..diagnostics import IrError
from ..ir import Call, Expr, Function, GlobalVar, Let, Module, free_variables, post_order, rewrite, with_function
from ..ir.structural import structural_equal
from .core.base import ModulePass, is_optimizable, register_pass
from .core.context import PassContext
from .partition.compiler_functions import is_compiler_function


@register_pass("OutlineCompilerFunctionsWithExistingGlobalSymbols", info_name="OutlineCompilerFunctions")
@dataclass(frozen=True)
class OutlineCompilerFunctionsWithExistingGlobalSymbols(ModulePass):
    """Makes function literals for other compilers global, whether called directly or bound by `let`.

    ::

        def @main(%x) { fn (%y, Compiler="npu", global_symbol="npu_0") { exp(%y) }(%x) }
            ⇒  def @npu_0(%y, Compiler="npu", global_symbol="npu_0") { exp(%y) }  def @main(%x) { @npu_0(%x) }

    The attribute `global_symbol` gives the name; two functions of one name must be the same function, and are outlined
    once. With `compiler_filter`, only functions for that compiler are outlined.
    """

    compiler_filter: str = ""

    def transform(self, module: Module, context: PassContext) -> Module:
        functions = dict(module.functions)
        for name, function in module.functions.items():
            if is_optimizable(function):
                functions[name] = _Outliner(functions, function, self.compiler_filter).run()
        return module.with_functions(functions)


class _Outliner:
    """Outlines the functions inside of one function into `functions`."""

    def __init__(self, functions: dict[str, Function], root: Function, compiler: str) -> None:
        self.functions = functions
        self.root = root
        self.compiler = compiler
        self.bound = {
            e.var: e.value for e in post_order(root) if isinstance(e, Let) and is_compiler_function(e.value, compiler)
        }

    def run(self) -> Function:
        return rewrite(self.root, self._leave)

    def _leave(self, old: Expr, new: Expr) -> Expr:
        if isinstance(new, Let) and new.var in self.bound:
            return new.body
        if old in self.bound:
            return self.bound[old]
        if isinstance(new, Call) and is_compiler_function(new.op, self.compiler):
            name = self._outlined(new.op)
            return Call(GlobalVar(name, new.op.span), new.args, new.attrs, new.type_args, new.span)
        return new

    def _outlined(self, function: Function) -> str:
        name = function.attrs.get("global_symbol")
        if not name:
            message = f"a function for {function.attrs['Compiler']} cannot be made global: it lacks the attribute global_symbol"
            raise IrError(message, function.span)
        captured = free_variables(function)
        if captured:
            raise IrError(f"@{name} cannot be made global: it uses %{captured[0].name} from outside", function.span)
        other = self.functions.get(name)
        if other is None:
            self.functions[name] = function
        elif other is not function and not _same(other, function):
            raise IrError(f"there are two different functions @{name}", function.span)
        return name


def _same(a: object, b: Function) -> bool:
    return isinstance(a, Function) and structural_equal(with_function(a, attrs={}), with_function(b, attrs={}))
