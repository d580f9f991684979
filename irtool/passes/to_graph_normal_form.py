"""ToGraphNormalForm: `let`s become shared nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..ir import Expr, Function, Let, Module, Var, children
from .base import FunctionPass, register_pass
from .context import PassContext
from .let_inlining import rewrite_lets


@register_pass("ToGraphNormalForm", level=1)
@dataclass(frozen=True)
class ToGraphNormalForm(FunctionPass):
    """Replaces `let` bindings by graph bindings: all uses of a variable share its value.

    ::

        let %a = add(%x, %y); let %b = add(%a, %a); %b   ⇒   %0 = add(%x, %y); add(%0, %0)

    A recursive function keeps its `let`, around the function alone. Expressions with side effects are evaluated on use, no
    longer in the order of the `let`s, and not at all if unused.
    """

    changes: ClassVar[str] = "effects"
    takes_open_types = True

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        recursive = recursive_variables(function)

        def replace(var: Var, value: Expr) -> Expr:
            return Let(var, value, var) if var in recursive else value

        return rewrite_lets(function, replace)


def recursive_variables(root: Expr) -> set[Var]:
    """Variables of `let`s that occur in their own values."""
    found: set[Var] = set()
    bound_now: set[Var] = set()
    seen: set[Expr] = set()
    stack: list[tuple[str, Expr]] = [("see", root)]
    while stack:
        step, e = stack.pop()
        if step == "bound":
            bound_now.discard(e)
        elif isinstance(e, Var):
            if e in bound_now:
                found.add(e)
        elif e not in seen:
            seen.add(e)
            if isinstance(e, Let):
                bound_now.add(e.var)
                stack += [("see", e.body), ("bound", e.var), ("see", e.value)]
            else:
                stack.extend(("see", c) for c in reversed(children(e)))
    return found
