"""Generic functions as values of branches and arguments: functions of the one type that is used there."""

from __future__ import annotations

from ..infer import infer_types
from ..ir import (
    Call,
    Constructor,
    Expr,
    Function,
    FuncType,
    GlobalVar,
    If,
    Match,
    Module,
    Type,
    Var,
    post_order,
    rewrite,
)
from ..ir.branches import branch_results, with_branch_results
from ..ir.types import rewrite_type


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


def with_types_in_arguments(module: Module) -> Module:
    """The typed module, with the type arguments of its calls, in which no argument is a polymorphic function or a constructor.

    ::

        @map(@id, %l)    ⇒    @map(fn (%x: A) { @id(%x) }, %l)        %l: List[A]
    """
    generic = {name for name, f in module.relay_functions.items() if f.type_params}

    def is_wrapped(a: Expr) -> bool:
        return (isinstance(a, Constructor) and bool(a.inputs)) or (isinstance(a, GlobalVar) and a.name in generic)

    def wrapped(old: Expr, new: Expr) -> Expr:
        if not isinstance(old, Call) or not any(map(is_wrapped, old.args)):
            return new
        assert isinstance(new, Call)
        types = _argument_types(old)
        args = [
            _called_with(a, t) if is_wrapped(o) and isinstance(t, FuncType) and not t.type_params else a
            for o, a, t in zip(old.args, new.args, types, strict=True)
        ]
        return Call(new.op, tuple(args), new.attrs, new.type_args, new.span)

    functions = dict(module.functions)
    for name, f in module.relay_functions.items():
        if any(isinstance(e, Call) and any(map(is_wrapped, e.args)) for e in post_order(f.body)):
            functions[name] = rewrite(f, wrapped)
    typed = module.with_functions(functions)
    return typed if typed is module else infer_types(typed)


def _argument_types(e: Call) -> list[Type | None]:
    """The types that the callee has for the arguments of this call; None where they are not known."""
    t = e.op.checked_type
    if not isinstance(t, FuncType) or len(t.type_params) != len(e.type_args) or len(t.arg_types) != len(e.args):
        return [None] * len(e.args)
    bindings: dict[Type, Type] = dict(zip(t.type_params, e.type_args, strict=True))
    return [rewrite_type(a, lambda x: bindings.get(x, x)) for a in t.arg_types]


def _called_with(function: Expr, t: FuncType) -> Expr:
    """A function literal of that type that calls the function."""
    params = tuple(Var(f"x{n or ''}", a) for n, a in enumerate(t.arg_types))
    return Function(params, Call(function, params, span=function.span), t.ret_type)


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
        return _called_with(GlobalVar(result.name, result.span), t)

    return with_branch_results(new, of_one_type)
