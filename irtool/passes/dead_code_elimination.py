"""DeadCodeElimination: `let`s that nothing needs go."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Expr, Function, Module, Var
from .core.base import ModulePass, register_pass
from .core.context import PassContext
from .core.let_inlining import rewrite_lets
from .dead_code.usage import needed_uses
from .effects.purity import pure_variables


@register_pass("DeadCodeElimination", level=1, required=("InferType",))
@dataclass(frozen=True)
class DeadCodeElimination(ModulePass):
    """Removes each `let` with an unused variable and a value without side effects.

    ::

        let %a = add(%x, %y); let %b = nn.relu(%x); %b   ⇒   let %b = nn.relu(%x); %b

    Options:
        inline_once: also inline values without side effects that are used exactly once.
        ignore_impurity: treat every value as free of side effects.
    """

    inline_once: bool = False
    ignore_impurity: bool = False

    def transform(self, module: Module, context: PassContext) -> Module:
        pure = {} if self.ignore_impurity else pure_variables(module)
        functions = dict(module.functions)
        for name, function in module.functions.items():
            if isinstance(function, Function):
                functions[name] = self._cleaned(function, pure)
        return module.with_functions(functions)

    def _cleaned(self, function: Function, pure: dict[Var, bool]) -> Function:
        def is_pure(var: Var) -> bool:
            return pure.get(var, self.ignore_impurity)

        use_counts = needed_uses(function, is_pure)

        def replace(var: Var, value: Expr) -> Expr | None:
            if not is_pure(var):
                return None
            return value if use_counts[var] == 0 or (self.inline_once and use_counts[var] == 1) else None

        return rewrite_lets(function, replace)
