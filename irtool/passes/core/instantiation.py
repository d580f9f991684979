"""Copies of functions with types in the place of type variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...ir import (
    UNIT,
    Call,
    Expr,
    Function,
    IncompleteType,
    Module,
    Type,
    TypeVar,
    Var,
    binders,
    post_order,
    rewrite,
    with_binders,
    with_function,
)
from ...ir.types import rewrite_type, type_children


def instantiate(
    root: Function, types: Mapping[TypeVar, Type], on_copy: Callable[[Function, Function], None] | None = None
) -> Function:
    """`root` with fresh bound variables and with type variables replaced.

    `made(old, new)` is told of each function below `root` and its copy. The type parameters of `root` stay.
    """

    def convert(t: Type | None) -> Type | None:
        if t is None or not types:
            return t
        return rewrite_type(t, lambda leaf: types.get(leaf, leaf) if isinstance(leaf, TypeVar) else leaf)

    renamed = {
        v: Var(v.name, convert(v.type_annotation), v.span, None, v.virtual_device)
        for e in post_order(root)
        for v in binders(e)
    }
    memo: dict[Expr, Expr] = dict(renamed.items())

    def leave(old: Expr, new: Expr) -> Expr:
        new = with_binders(new, renamed)
        if types and isinstance(new, Call) and new.type_args:
            new = Call(new.op, new.args, new.attrs, tuple(map(convert, new.type_args)), new.span)  # type: ignore[arg-type]  # only None becomes None
        if isinstance(old, Function) and isinstance(new, Function):
            if new is old or (types and new.ret_type is not None):
                new = with_function(new, ret_type=convert(new.ret_type))
            if on_copy is not None:
                on_copy(old, new)
        return new

    copied = rewrite(root, leave, memo=memo)
    assert isinstance(copied, Function)
    return copied


def types_of_call(function: Function, call: Call) -> dict[TypeVar, Type]:
    """The type arguments of `function` in this call of it, written or inferred.

    Of those that neither says, nothing is known; inference will find them.
    """
    bindings: dict[TypeVar, Type] = dict(zip(function.type_params, call.type_args, strict=False))
    type_pairs = [(p.type_annotation, a.checked_type) for p, a in zip(function.params, call.args, strict=True)]
    stack = [*type_pairs, (function.ret_type, call.checked_type)]
    while stack:
        general, special = stack.pop()
        if general is None or special is None:
            continue
        if isinstance(general, TypeVar):
            if general in function.type_params:
                bindings.setdefault(general, special)
        elif type(general) is type(special):
            stack.extend(zip(type_children(general), type_children(special), strict=False))
    return {p: bindings.get(p) or IncompleteType() for p in function.type_params}


def settle_type_arguments(module: Module) -> Module:
    """The typed module with `()` for open type arguments of calls; the module itself if no type is open.

    ::

        def @value[A, B](%e: Either[A, B]) -> B { … }     @value(Right(1))     nothing says what A is

    No value has such a type, so that any type will do; in a copy of the function, its variables would have none.
    """

    def settled(t: Type) -> Type:
        return rewrite_type(t, lambda leaf: UNIT if isinstance(leaf, IncompleteType) else leaf) if t.is_open else t

    def leave(old: Expr, new: Expr) -> Expr:
        if not isinstance(new, Call) or not _has_open_arguments(new):
            return new
        return Call(new.op, new.args, new.attrs, tuple(map(settled, new.type_args)), new.span)

    functions = dict(module.functions)
    for name, f in module.functions.items():
        if isinstance(f, Function) and any(map(_has_open_arguments, post_order(f))):
            functions[name] = rewrite(f, leave)
    return module.with_functions(functions)


def _has_open_arguments(e: Expr) -> bool:
    return isinstance(e, Call) and any(t.is_open for t in e.type_args)
