"""ToGraphNormalForm: `let`s become shared nodes."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Expr, Function, Let, Module, Var, children, post_order
from ..ops.base import is_call_to
from .core.base import FunctionPass, register_pass
from .core.context import PassContext
from .core.let_inlining import rewrite_lets
from .effects.purity import Effects


@register_pass("ToGraphNormalForm", level=1)
@dataclass(frozen=True)
class ToGraphNormalForm(FunctionPass):
    """Replaces `let` bindings by graph bindings: all uses of a variable share its value.

    ::

        let %a = add(%x, %y); let %b = add(%a, %a); %b   ⇒   %0 = add(%x, %y); add(%0, %0)

    A recursive function keeps its `let`, around the function alone. So does a value whose evaluation creates, reads or writes a
    reference, or calls what may do so: the order of the `let`s is the order of effects.
    """

    takes_open_types = True

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        recursive = recursive_variables(function)
        effects = Effects(module)
        values = {e.var: e.value for e in post_order(function) if isinstance(e, Let)}

        def replace(var: Var, value: Expr) -> Expr | None:
            # Where nothing says any more when a value is needed last, the ends of lifetimes go.
            if not is_call_to(value, "memory.kill") and not effects.is_pure(values[var]):
                return None
            return Let(var, value, var) if var in recursive else value

        return rewrite_lets(function, replace)


def recursive_variables(root: Expr) -> set[Var]:
    """Variables of `let`s that occur in their own values."""
    result: set[Var] = set()
    bound_now: set[Var] = set()
    seen: set[Expr] = set()
    stack: list[tuple[str, Expr]] = [("see", root)]
    while stack:
        step, e = stack.pop()
        if step == "bound":
            bound_now.discard(e)
        elif isinstance(e, Var):
            if e in bound_now:
                result.add(e)
        elif e not in seen:
            seen.add(e)
            if isinstance(e, Let):
                bound_now.add(e.var)
                stack += [("see", e.body), ("bound", e.var), ("see", e.value)]
            else:
                stack.extend(("see", c) for c in reversed(children(e)))
    return result
