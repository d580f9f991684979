"""Other types of parameters, throughout a case: annotations change, and what follows from them is inferred anew."""

from __future__ import annotations

from collections.abc import Callable

from ...ir import Expr, Function, Type, Var, global_names, refresh, rewrite, rewrite_type, without_return_type
from ..case import Case
from .replacing import Leave


def retyped(case: Case, leaf: Callable[[Type], Type], leave: Leave) -> Case:
    """The case with `leaf` for each tensor type in an annotation, and nodes rewritten by `leave`.

    Types of results go, except those of recursive functions, which need them.
    """
    functions = dict(case.module.functions)
    for name, f in case.module.relay_functions.items():

        def annotate(v: Var) -> Type | None:
            return rewrite_type(v.type_annotation, leaf) if v.type_annotation is not None else None

        def settle(old: Expr, new: Expr, name: str = name) -> Expr:
            new = leave(old, new)
            if not isinstance(new, Function) or new.ret_type is None:
                return new
            made = without_return_type(new)
            if name not in global_names(new):
                return made
            ret = rewrite_type(new.ret_type, leaf)
            return Function(
                made.params, made.body, ret, made.type_params, made.attrs, made.span, None, made.virtual_device
            )

        functions[name] = rewrite(refresh(f, annotate), settle)
    return case.with_module(case.module.with_functions(functions))
