"""DeDuplicate: every function gets variables of its own."""

from __future__ import annotations

from dataclasses import dataclass

from ..diagnostics import IrError
from ..ir import (
    Call,
    Expr,
    Function,
    Module,
    Type,
    TypeVar,
    Var,
    binders,
    post_order,
    rewrite,
    rewrite_type,
    with_binders,
)
from ..ir.types import quantified
from ..ir.untyped import untyped
from ..ir.verify import verify
from .core.base import ModulePass, register_pass
from .core.context import PassContext


@register_pass("DeDuplicate", level=0)
@dataclass(frozen=True)
class DeDuplicate(ModulePass):
    """Replaces all bound variables and type variables of a function by fresh ones with the same names.

    ::

        @f and @g are built around one and the same expression, `let %a = exp(%x); add(%a, %a)`
            ⇒  @f and @g each have their own %a

    Code that was built by putting the same expression into several functions becomes code in which nothing that binds is
    shared between functions, so that passes may treat each on its own. The text of a module reads as before: variables
    are different objects, not different names. What is shared within a function stays shared. A function that is not
    well-formed (that binds a variable twice, say) is refused.
    """

    takes_open_types = True

    def transform(self, module: Module, context: PassContext) -> Module:
        return module.with_functions(
            {n: fresh_variables(f) if isinstance(f, Function) else f for n, f in module.functions.items()}
        )


def fresh_variables(root: Expr) -> Expr:
    """A copy of `root` in which everything that is bound is new: parameters, `let` and pattern variables, type variables.

    Free variables stay. Raises IrError if `root` is not well-formed.
    """
    wrong = verify(root)
    if wrong:
        raise IrError(wrong)
    order = post_order(root)
    types: dict[TypeVar, TypeVar] = {}
    for e in order:
        if isinstance(e, Function):
            types.update({t: TypeVar(t.name, t.kind, t.span) for t in e.type_params})

    def renamed(type: Type | None) -> Type | None:
        if type is None or not types:
            return type
        own = quantified(type)
        return rewrite_type(type, lambda t: types.get(t, t) if isinstance(t, TypeVar) and t not in own else t)

    fresh = {
        v: Var(v.name, renamed(v.type_annotation), v.span, None, v.virtual_device) for e in order for v in binders(e)
    }

    def leave(old: Expr, new: Expr) -> Expr:
        new = with_binders(new, fresh)
        if isinstance(new, Call) and new.type_args:
            return Call(new.op, new.args, new.attrs, tuple(renamed(t) for t in new.type_args), new.span)  # type: ignore[misc]  # only None becomes None
        if isinstance(new, Function) and types:
            type_params = tuple(types[t] for t in new.type_params)
            ret_type = renamed(new.ret_type)
            return Function(new.params, new.body, ret_type, type_params, new.attrs, new.span, None, new.virtual_device)
        # What was not rebuilt may still be typed with the old type variables.
        return untyped(new) if types and new is old else new

    memo: dict[Expr, Expr] = dict(fresh.items())
    return rewrite(root, leave, memo=memo)
