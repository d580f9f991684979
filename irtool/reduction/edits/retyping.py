"""Other types of parameters, throughout a case: annotations, constants and attributes change, dependent types are inferred anew."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from ...diagnostics import IrError
from ...ir import (
    Call,
    Constant,
    Expr,
    Function,
    MissingData,
    Type,
    Var,
    global_names,
    refresh,
    rewrite,
    rewrite_type,
    without_return_type,
)
from ...ops.base import attributes_of
from ..case import Case
from .replacing import Leave


def retyped(
    case: Case,
    leaf: Callable[[Type], Type],
    constant: Callable[[Constant], Constant],
    attribute: Callable[[Any], Any] | None,
) -> Case | None:
    """The case with `leaf` for each tensor type in an annotation, `constant` for constants with data, and `attribute` for attributes.

    `attribute` gives the same object for what stays; None: all stay. Types of results go, except those of recursive functions,
    which need them. None for an attribute that does not take its value.
    """

    def leave(old: Expr, new: Expr) -> Expr:
        if isinstance(new, Constant) and not isinstance(new.data, MissingData):
            return constant(new)
        if attribute is not None and isinstance(new, Call) and dataclasses.is_dataclass(new.attrs):
            before = {f.name: getattr(new.attrs, f.name) for f in dataclasses.fields(new.attrs)}
            named = {name: other for name, v in before.items() if (other := attribute(v)) is not v}
            if named:
                attrs = new.op_class.make(attributes_of(new.attrs, **named))
                return Call(new.op, new.args, attrs, new.type_args, new.span)
        return new

    try:
        return _annotated(case, leaf, leave)
    except (IrError, ValueError, TypeError):
        return None


def _annotated(case: Case, leaf: Callable[[Type], Type], leave: Leave) -> Case:
    functions = dict(case.module.functions)
    for name, f in case.module.relay_functions.items():

        def annotate(v: Var) -> Type | None:
            return rewrite_type(v.type_annotation, leaf) if v.type_annotation is not None else None

        def settle(old: Expr, new: Expr, name: str = name) -> Expr:
            new = leave(old, new)
            if not isinstance(new, Function) or new.ret_type is None:
                return new
            result = without_return_type(new)
            if name not in global_names(new):
                return result
            ret = rewrite_type(new.ret_type, leaf)
            return Function(
                result.params,
                result.body,
                ret,
                result.type_params,
                result.attrs,
                result.span,
                None,
                result.virtual_device,
            )

        functions[name] = rewrite(refresh(f, annotate), settle)
    return case.with_module(case.module.with_functions(functions))
