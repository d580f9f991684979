"""Generic functions as values of branches: functions of the one type that the branch has."""

from __future__ import annotations

from ..infer import infer_types
from ..ir import Call, Expr, Function, FuncType, GlobalVar, If, Match, Module, Var, post_order, rewrite
from ..ir.branches import branch_results, with_branch_results


def with_types_in_branches(module: Module) -> Module:
    """The typed module in which no branch gives a polymorphic function where the branches have one type.

    ::

        if (%c) { %f } else { @id }    ⇒    if (%c) { %f } else { fn (%x: A) { @id(%x) } }        %f: fn (A) -> A

    Such a function is called, with types, so that monomorphization copies it for them. Itself where nothing changes.
    """
    generic = {name for name, f in module.relay_functions.items() if f.type_params}
    functions = dict(module.functions)
    for name, f in module.relay_functions.items():
        if any(_gives_generic(e, generic) for e in post_order(f.body)):
            functions[name] = rewrite(f, lambda old, new: _typed(old, new, generic))
    typed = module.with_functions(functions)
    return typed if typed is module else infer_types(typed)


def _gives_generic(e: Expr, generic: set[str]) -> bool:
    t = e.checked_type
    if not isinstance(e, If | Match) or not isinstance(t, FuncType) or t.type_params:
        return False
    return any(isinstance(r, GlobalVar) and r.name in generic for r in branch_results(e))


def _typed(old: Expr, new: Expr, generic: set[str]) -> Expr:
    if not _gives_generic(old, generic):
        return new
    assert isinstance(new, If | Match) and isinstance(old.checked_type, FuncType)
    t = old.checked_type

    def of_one_type(result: Expr) -> Expr:
        if not isinstance(result, GlobalVar) or result.name not in generic:
            return result
        params = tuple(Var(f"x{n or ''}", a) for n, a in enumerate(t.arg_types))
        return Function(params, Call(GlobalVar(result.name, result.span), params, span=result.span), t.ret_type)

    return with_branch_results(new, of_one_type)
