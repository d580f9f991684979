"""Giving a module what it lacks: values of parameters, shapes of inputs, data of constants that were cut off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..diagnostics import Diagnostic, IrError, UsageError, nearest
from ..ir import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    MissingData,
    Module,
    TensorType,
    TupleType,
    Var,
    children,
    leaf_paths,
    post_order,
    rebuild_type,
    rewrite,
    substitute,
    tuple_leaves,
    with_function,
    without_return_type,
)
from ..parser.params import origin


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
            raise IrError(
                f"@{entry} has no parameter %{name}", function.span, help=nearest(name, by_name), notes=origin(params)
            )
        array = np.ascontiguousarray(data) if np.ndim(data) else np.asarray(data)
        ty = param.checked_type or param.type_annotation
        if isinstance(ty, TensorType):
            if contradiction(ty, array.shape) or (str(array.dtype) != ty.dtype and ty.dtype != "bfloat16"):
                message = f"%{name} is {ty!r}, but its value is {array.dtype}{list(array.shape)}"
                raise IrError(message, param.span, notes=origin(params))
        values[param] = Constant(array, span=param.span)
    if not values:
        return module
    return module.with_function(entry, with_values(function, values))


def with_values(function: Function, values: Mapping[Var, Expr]) -> Function:
    """The function with parameters replaced. Types that followed from shapes which only the values settle are inferred
    again."""
    kept = tuple(p for p in function.params if p not in values)
    body = substitute(function.body, values)
    if all(_is_settled(p.checked_type or p.type_annotation) for p in values):
        return with_function(function, params=kept, body=body)
    return without_return_type(with_function(function, params=kept, body=without_types(body)))


def _is_settled(t: Any) -> bool:
    return t is not None and all(not isinstance(x, TensorType) or x.is_static for x in tuple_leaves(t))


def pin_shapes(module: Module, shapes: Sequence[str], entry: str = "main") -> Module:
    """Gives parameters of `entry` the shapes `NAME=1,3,224,224`, fields of tuples `NAME.0=4`.

    A dtype already written is kept, float32 otherwise. Raises UsageError for what cannot be read, and IrError, listing all
    of them, for names that are no parameters and shapes that contradict what is written.
    """
    function = module.functions.get(entry)
    if not isinstance(function, Function):
        raise IrError(f"there is no function @{entry}")
    by_name = {p.name: p for p in function.params}
    types = {p: p.type_annotation or p.checked_type for p in function.params}
    pinned: dict[Var, Any] = {}
    problems: list[Diagnostic] = []
    for item in shapes:
        name, shape = _read_shape(item)
        param = by_name.get(name)
        path = ""
        while param is None and (cut := name[: len(name) - len(path)].rfind(".")) > 0:
            param, path = by_name.get(name[:cut]), name[cut:]
        if param is None:
            known = nearest(name, by_name)
            problems.append(Diagnostic(f"@{entry} has no parameter %{name}", _head(function), help=known))
            continue
        old = types[param]
        leaves = {p: t for t, p in leaf_paths(old)} if old is not None else {}
        if isinstance(old, TupleType) and path not in leaves:
            fields = ", ".join(f"--shape {param.name}{p}=…" for p in list(leaves)[:4])
            problems.append(Diagnostic(f"%{name} is no tensor: %{param.name} is {old!r}", param.span, help=fields))
        elif path not in leaves and path:
            problems.append(
                Diagnostic(f"%{param.name} is no tuple that has a field {path[1:]}: it is {old!r}", param.span)
            )
        elif (trouble := contradiction(leaves.get(path), shape)) is not None:
            problems.append(Diagnostic(f"%{name} cannot have the shape {list(shape)}: {trouble}", param.span))
        else:
            written = leaves.get(path)
            dtype = written.dtype if isinstance(written, TensorType) else "float32"
            pinned[param] = _with_leaf(pinned.get(param, old), path, TensorType(shape, dtype))
    if problems:
        raise IrError(problems)
    renamed: dict[Var, Expr] = {p: Var(p.name, t, p.span, None, p.virtual_device) for p, t in pinned.items()}
    params = tuple(renamed.get(p, p) for p in function.params)
    body = without_types(substitute(function.body, renamed))
    whole = Function(params, body, None, function.type_params, function.attrs, function.span, None)  # type: ignore[arg-type]
    return module.with_function(entry, whole)


def _read_shape(item: str) -> tuple[str, tuple[int, ...]]:
    """The name and the shape in `NAME=1,3,224,224`; `NAME=` and `NAME=()` are scalars."""
    name, equals, dims = item.partition("=")
    numbers = [d.strip() for d in dims.strip().removeprefix("(").removesuffix(")").split(",") if d.strip()]
    if not equals or not all(d.isdecimal() for d in numbers):
        raise UsageError(f"cannot read the shape {item!r}", help="write NAME=1,3,224,224")
    return name.strip().removeprefix("%"), tuple(map(int, numbers))


def contradiction(written: Any, shape: Sequence[int]) -> str | None:
    """How a shape contradicts the type that is written, if it does; dimensions that are not known take any number."""
    if not isinstance(written, TensorType):
        return None
    if len(written.shape) != len(shape):
        return f"it is {written!r}, of rank {len(written.shape)} and not {len(shape)}"
    for n, (d, given) in enumerate(zip(written.shape, shape)):
        if isinstance(d, int) and int(d) != given:
            return f"it is {written!r}, and axis {n} is {int(d)}"
    return None


def _with_leaf(t: Any, path: str, leaf: TensorType) -> Any:
    """The type with the tensor at this place in its tuples replaced."""
    spine: list[tuple[TupleType, int]] = []
    for number in path.split(".")[1:]:
        spine.append((t, int(number)))
        t = t.fields[int(number)]
    made: Any = leaf
    for whole, n in reversed(spine):
        made = rebuild_type(whole, (*whole.fields[:n], made, *whole.fields[n + 1 :]))
    return made


def _head(function: Function) -> Any:
    """Where the parameters of a function stand, or the function itself."""
    spans = [p.span for p in function.params if p.span is not None]
    return spans[0] if spans else function.span


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
    """Gives constants whose data was cut off a value: `zeros`, `random` (seeded), `param`, or an error that says so.

    With `param` they become parameters `constant0`, `constant1`, … of the functions that need them: a function that calls
    another with such constants has them too, and hands them on.
    """
    missing = {n: _missing_in(f) for n, f in module.functions.items() if isinstance(f, Function)}
    if not any(missing.values()):
        return module
    if how != "error" and any(
        e.checked_type is None and e.type_annotation is None for m in missing.values() for e in m
    ):
        from ..infer import infer_types

        module = infer_types(module)
        missing = {n: _missing_in(f) for n, f in module.functions.items() if isinstance(f, Function)}
    if how == "param":
        return _as_params(module, missing)
    functions = dict(module.functions)
    for name, constants in missing.items():
        if constants:
            memo: dict[Expr, Expr] = {e: _filled(e, how, seed) for e in constants}
            functions[name] = rewrite(functions[name], lambda old, new: new, memo=memo)
    return module.with_functions(functions)


def _missing_in(f: Function) -> list[Constant]:
    return [e for e in post_order(f) if isinstance(e, Constant) and isinstance(e.data, MissingData)]


def _as_params(module: Module, missing: Mapping[str, list[Constant]]) -> Module:
    """The module with missing constants as further parameters, and further arguments of the calls of such functions."""
    needed = {n: {e.data.index: e for e in reversed(found)} for n, found in missing.items()}  # type: ignore[union-attr]
    callees = {n: [e.name for e in post_order(module.functions[n]) if isinstance(e, GlobalVar)] for n in needed}
    growing = True
    while growing:
        growing = False
        for name, below in callees.items():
            for callee in below:
                new = {i: e for i, e in needed.get(callee, {}).items() if i not in needed[name]}
                growing = growing or bool(new)
                needed[name].update(new)
    functions = dict(module.functions)
    for name, constants in needed.items():
        if constants:
            functions[name] = _with_params(module.functions[name], dict(sorted(constants.items())), needed)
    return module.with_functions(functions)


def _with_params(
    f: Function, constants: Mapping[int, Constant], needed: Mapping[str, Mapping[int, Constant]]
) -> Function:
    taken = {p.name for p in f.params}
    params = {}
    for index, e in constants.items():
        name = f"constant{index}"
        while name in taken:
            name += "_"
        params[index] = Var(name, e.checked_type or e.type_annotation, e.span)

    def leave(old: Expr, new: Expr) -> Expr:
        if isinstance(new, Constant) and isinstance(new.data, MissingData):
            return params[new.data.index]
        if isinstance(new, Call) and isinstance(new.op, GlobalVar) and needed.get(new.op.name):
            further = [params[i] for i in sorted(needed[new.op.name])]
            return Call(GlobalVar(new.op.name, new.op.span), (*new.args, *further), new.attrs, new.type_args, new.span)
        return new

    for user in post_order(f.body):
        others = user.args if isinstance(user, Call) else children(user)
        for value in others:
            if isinstance(value, GlobalVar) and needed.get(value.name):
                message = (
                    f"@{value.name}, whose constants are missing, is used as a value: it cannot get them as parameters"
                )
                raise IrError(
                    message, value.span, help="--missing-constants=zeros or =random stands something in for them"
                )
    body = rewrite(f.body, leave)
    return with_function(f, params=(*f.params, *params.values()), body=body)


def _filled(e: Constant, how: str, seed: int) -> Constant:
    import numpy as np

    from ..interp.feeds import random_value

    assert isinstance(e.data, MissingData)
    where = f"meta[{e.data.key}][{e.data.index}]"
    if how == "error":
        raise IrError(
            f"the data of {where} is missing: the metadata section was cut off",
            e.span,
            help="--missing-constants=zeros or =random stands something in for it, =param makes it a parameter",
        )
    ty = e.checked_type or e.type_annotation
    if not isinstance(ty, TensorType) or not ty.is_static:
        raise IrError(f"the data of {where} is missing and its type is not known", e.span)
    if how == "zeros":
        data = np.zeros(tuple(map(int, ty.shape)), ty.dtype)  # type: ignore[arg-type]
    else:
        place = f"constant{e.data.index}"
        data = random_value(ty, place, seed, place)
    return Constant(data, ty.dtype, None, e.span)
