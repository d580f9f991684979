"""Giving a module what it lacks: values of parameters, shapes of inputs, data of constants that were cut off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..diagnostics import IrError, UsageError, nearest
from ..ir import (
    Constant,
    Expr,
    Function,
    MissingData,
    Module,
    TensorType,
    Var,
    post_order,
    rewrite,
    substitute,
    with_function,
)


def bind_params(module: Module, params: Mapping[str, Any], entry: str = "main") -> Module:
    """Replaces parameters of `entry` by constants. Raises IrError for a name that is no parameter, or a wrong shape or dtype."""
    import numpy as np

    function = module.functions.get(entry)
    if not isinstance(function, Function):
        raise IrError(f"there is no function @{entry} to bind parameters of")
    by_name = {p.name: p for p in function.params}
    values: dict[Var, Expr] = {}
    for name, data in params.items():
        param = by_name.get(name)
        if param is None:
            raise IrError(f"@{entry} has no parameter %{name}", function.span, help=nearest(name, by_name))
        array = np.ascontiguousarray(data) if np.ndim(data) else np.asarray(data)
        ty = param.checked_type or param.type_annotation
        if isinstance(ty, TensorType):
            wrong_shape = ty.is_static and tuple(ty.shape) != array.shape
            if wrong_shape or (str(array.dtype) != ty.dtype and ty.dtype != "bfloat16"):
                raise IrError(f"%{name} is {ty!r}, but its value is {array.dtype}{list(array.shape)}", param.span)
        values[param] = Constant(array, span=param.span)
    if not values:
        return module
    kept = tuple(p for p in function.params if p not in values)
    bound = with_function(function, params=kept, body=substitute(function.body, values))
    return module.with_function(entry, bound)


def pin_shapes(module: Module, shapes: Sequence[str], entry: str = "main") -> Module:
    """Gives parameters of `entry` the shapes `NAME=1,3,224,224`; a dtype already written is kept, float32 otherwise."""
    function = module.functions.get(entry)
    if not isinstance(function, Function):
        raise IrError(f"there is no function @{entry}")
    by_name = {p.name: p for p in function.params}
    renamed: dict[Var, Var] = {}
    for item in shapes:
        name, equals, dims = item.partition("=")
        try:
            shape = tuple(int(d) for d in dims.strip("()").split(",") if d.strip())
        except ValueError:
            equals = ""
            shape = ()
        if not equals or any(d < 0 for d in shape):
            raise UsageError(f"cannot read the shape {item!r}", help="write NAME=1,3,224,224")
        param = by_name.get(name)
        if param is None:
            raise IrError(f"@{entry} has no parameter %{name}", function.span, help=nearest(name, by_name))
        old = param.type_annotation
        dtype = old.dtype if isinstance(old, TensorType) else "float32"
        renamed[param] = Var(name, TensorType(shape, dtype), param.span, None, param.virtual_device)
    params = tuple(renamed.get(p, p) for p in function.params)
    body = without_types(substitute(function.body, renamed))
    pinned = Function(params, body, None, function.type_params, function.attrs, function.span, None)
    return module.with_function(entry, pinned)


def without_types(root: Expr) -> Expr:
    """A copy in which no node is typed, so that inference looks at all of them again."""
    return rewrite(root, lambda old, new: untyped(new))


def untyped(e: Expr) -> Expr:
    """A copy of one node without its type; variables and what always has the same type stay as they are."""
    from ..ir import Call, GlobalVar, If, Let, Match, RefCreate, RefRead, RefWrite, Tuple, TupleGetItem

    if isinstance(e, Call):
        return Call(e.op, e.args, e.attrs, e.type_args, e.span)
    if isinstance(e, Tuple):
        return Tuple(e.fields, e.span)
    if isinstance(e, TupleGetItem):
        return TupleGetItem(e.tuple, e.index, e.span)
    if isinstance(e, Let):
        return Let(e.var, e.value, e.body, e.span)
    if isinstance(e, If):
        return If(e.cond, e.true_branch, e.false_branch, e.span)
    if isinstance(e, Match):
        return Match(e.data, e.clauses, e.complete, e.span)
    if isinstance(e, Function):
        return with_function(e)
    if isinstance(e, RefCreate):
        return RefCreate(e.value, e.span)
    if isinstance(e, RefRead):
        return RefRead(e.ref, e.span)
    if isinstance(e, RefWrite):
        return RefWrite(e.ref, e.value, e.span)
    if isinstance(e, GlobalVar):
        return GlobalVar(e.name, e.span)
    return e


def fill_missing_constants(module: Module, how: str = "error", seed: int = 0) -> Module:
    """Gives constants whose data was cut off a value: `zeros`, `random` (seeded), or an error that says so."""
    functions = dict(module.functions)
    for name, f in module.functions.items():
        if not isinstance(f, Function):
            continue
        missing = [e for e in post_order(f) if isinstance(e, Constant) and isinstance(e.data, MissingData)]
        if not missing:
            continue
        memo: dict[Expr, Expr] = {e: _filled(e, how, seed) for e in missing}
        functions[name] = rewrite(f, lambda old, new: new, memo=memo)
    return module.with_functions(functions)


def _filled(e: Constant, how: str, seed: int) -> Constant:
    import numpy as np

    from ..interp.feeds import random_value

    assert isinstance(e.data, MissingData)
    where = f"meta[{e.data.key}][{e.data.index}]"
    if how == "error":
        raise IrError(
            f"the data of {where} is missing: the metadata section was cut off",
            e.span,
            help="--missing-constants=zeros or =random stands something in for it",
        )
    ty = e.checked_type or e.type_annotation
    if not isinstance(ty, TensorType) or not ty.is_static:
        raise IrError(f"the data of {where} is missing and its type is not known", e.span)
    if how == "zeros":
        data = np.zeros(tuple(map(int, ty.shape)), ty.dtype)  # type: ignore[arg-type]
    else:
        data = random_value(ty, f"constant{e.data.index}", seed)
    return Constant(data, ty.dtype, None, e.span)
