"""Generic functions, constructors and operators as values: function literals of the type that is used there."""

from __future__ import annotations

from collections.abc import Sequence

from ..infer import infer_types
from ..ir import (
    Call,
    Constructor,
    Expr,
    Function,
    FuncType,
    GlobalVar,
    If,
    Let,
    Match,
    Module,
    RefCreate,
    RefType,
    RefWrite,
    Tuple,
    TupleType,
    Type,
    TypeVar,
    Var,
    children,
    post_order,
    rebuild,
    rewrite,
    with_function,
)
from ..ir.types import rewrite_type
from ..ops.base import OperatorType


def with_types_at_values(module: Module, polymorphic: bool = False) -> Module:
    """The typed module, with the type arguments of its calls, in which no generic function and no constructor is a value of one type.

    ::

        @map(@id, %l)                      ⇒    @map(fn (%x: A) { @id(%x) }, %l)                        %l: List[A]
        if (%c) { %f } else { @id }        ⇒    if (%c) { %f } else { fn (%x: A) { @id(%x) } }          %f: fn (A) -> A

    Such a function is called, with types, so that monomorphization copies it for them. With `polymorphic`, values of polymorphic types
    become literals too, with type parameters: what is then left of generic functions is calls. Itself where nothing changes.
    """
    generic = {name for name, f in module.relay_functions.items() if f.type_params}

    def literal(value: Expr, t: Type | None) -> Expr | None:
        """The literal in the place of a value that is used as one of type `t`; None where it stays."""
        if not isinstance(t, FuncType) or isinstance(t, OperatorType) or (t.type_params and not polymorphic):
            return None
        if isinstance(value, GlobalVar):
            is_generic = value.name in generic
        elif isinstance(value, Constructor):
            is_generic = bool(value.inputs)
        else:
            is_generic = not t.type_params and _is_polymorphic(value)
        return _called_with(value, t) if is_generic else None

    def has_literals(e: Expr) -> bool:
        return any(literal(k, t) is not None for k, t in zip(children(e), types_of_values(e), strict=True))

    def leave(old: Expr, new: Expr) -> Expr:
        kids = list(children(new))
        for n, (k, t) in enumerate(zip(children(old), types_of_values(old), strict=True)):
            replacement = literal(k, t)
            if replacement is not None:
                kids[n] = replacement if k is kids[n] else _called_with(kids[n], t)  # type: ignore[arg-type]  # it is that of a function
        return rebuild(new, kids)

    functions = dict(module.functions)
    for name, f in module.relay_functions.items():
        if any(map(has_literals, post_order(f))):
            functions[name] = rewrite(f, leave)
    typed = module.with_functions(functions)
    return typed if typed is module else infer_types(typed)


def types_of_values(e: Expr) -> Sequence[Type | None]:
    """The types that the children of a typed node are used as; None for a child that is called, chooses or is read."""
    t = e.checked_type
    if isinstance(e, Call):
        return (None, *_argument_types(e))
    if isinstance(e, If):
        return (None, t, t)
    if isinstance(e, Match):
        return (None, *[t] * len(e.clauses))
    if isinstance(e, Let):
        return (e.var.checked_type, t)
    if isinstance(e, Function):
        return (t.ret_type if isinstance(t, FuncType) else None,)
    if isinstance(e, Tuple) and isinstance(t, TupleType):
        return t.fields
    if isinstance(e, RefCreate) and isinstance(t, RefType):
        return (t.value,)
    if isinstance(e, RefWrite) and isinstance(e.ref.checked_type, RefType):
        return (None, e.ref.checked_type.value)
    return (None,) * len(children(e))


def _argument_types(e: Call) -> list[Type | None]:
    """The types that the callee has for the arguments of this call; None where they are not known."""
    t = e.op.checked_type
    if not isinstance(t, FuncType) or len(t.type_params) != len(e.type_args) or len(t.arg_types) != len(e.args):
        return [None] * len(e.args)
    bindings: dict[Type, Type] = dict(zip(t.type_params, e.type_args, strict=True))
    return [rewrite_type(a, lambda x: bindings.get(x, x)) for a in t.arg_types]


def _called_with(function: Expr, t: FuncType) -> Expr:
    """A function literal of that type that calls the function, which is evaluated once."""
    type_params = tuple(TypeVar(p.name, p.kind) for p in t.type_params)
    own: dict[Type, Type] = dict(zip(t.type_params, type_params, strict=True))

    def renamed(part: Type) -> Type:
        return rewrite_type(part, lambda x: own.get(x, x))

    params = tuple(Var(f"x{n or ''}", renamed(a)) for n, a in enumerate(t.arg_types))
    called = function
    if isinstance(function, Function):
        called = with_function(function)  # the type that it has been joined into is not its own
    elif not isinstance(function, Var | GlobalVar | Constructor):
        called = Var("f")
    call = Call(called, params, span=function.span)
    literal = Function(params, call, renamed(t.ret_type), type_params, span=function.span)
    return (
        Let(called, function, literal, function.span) if isinstance(called, Var) and called is not function else literal
    )


def _is_polymorphic(value: Expr) -> bool:
    if isinstance(value, Function):
        return bool(value.type_params)
    t = value.checked_type
    return isinstance(t, FuncType) and bool(t.type_params) and not isinstance(t, OperatorType)
