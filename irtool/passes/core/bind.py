"""Values for a module: of parameters, and of constants with data that was cut off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...deferred import np
from ...diagnostics import Diagnostic, IrError, Source, Span, nearest
from ...infer import param_types
from ...ir import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    MissingData,
    Module,
    TensorType,
    Type,
    Var,
    children,
    post_order,
    rewrite,
    substitute,
    with_function,
    without_return_type,
)
from ...ir.block_tensor import BlockTensor
from ...ir.conversion import dtype_name, fit
from ...ir.mistakes import ValueDoesNotFit
from ...ir.tensor_names import FIRST_VALUES, first_values, state_outputs, without_inputs
from ...ir.types import has_static_shapes
from ...ir.untyped import without_types
from ...ops.base import call
from ...ops.qnn.blocks import REAL


def bind_params(module: Module, params: Mapping[str, Any], entry: str = "main") -> Module:
    """Replaces parameters of `entry` by constants, by the rule of `ir.conversion`.

    Raises IrError for a name that is no parameter, and for all wrong shapes and dtypes.
    """
    from ...parser.params import origin

    function = module.functions.get(entry)
    if not isinstance(function, Function):
        raise IrError(f"there is no function @{entry} to bind parameters of")
    by_name = {p.name: p for p in function.params}
    types = param_types(module, entry) if any(n in by_name for n in params) else {}
    values: dict[Var, Expr] = {}
    problems: list[Diagnostic] = []
    for name, data in params.items():
        param = by_name.get(name)
        if param is None:
            raise IrError(
                f"@{entry} has no parameter %{name}",
                function.span,
                help=nearest(name, by_name),
                notes=origin(params, name),
            )
        try:
            values[param] = weight_of(param, types.get(name), data, origin(params, name))
        except IrError as error:
            problems += error.diagnostics
    if problems:
        raise IrError(problems)
    if not values:
        return module
    return module.with_function(entry, with_values(function, values))


def weight_of(param: Var, ty: Type | None, data: Any, notes: tuple[str, ...] = ()) -> Expr:
    """The constant that takes a parameter's place, or the dequantized constants of a tensor in blocks. `ty` is the parameter's type, where
    it is known.

    Raises IrError, with these notes, if the data does not fit.
    """
    if isinstance(data, BlockTensor):
        return _dequantized(param, ty, data, notes)
    return constant_of(param, ty, data, notes)


def constant_of(param: Var, ty: Type | None, data: Any, notes: tuple[str, ...] = ()) -> Constant:
    """As `weight_of`; the elements of a tensor in blocks as real numbers."""
    if isinstance(ty, TensorType):
        try:
            array = fit(data, ty, f"%{param.name}", param.span)
        except IrError as error:
            raise IrError([replace(d, notes=(*d.notes, *notes)) for d in error.diagnostics]) from None
        dtype = ty.dtype
    else:
        array = np.asarray(data)
        array = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
        dtype = dtype_name(array)
    return Constant(np.asarray(array, order="C"), dtype, None, declaration(param))


def _dequantized(param: Var, ty: Type | None, data: BlockTensor, notes: tuple[str, ...]) -> Expr:
    """The call that dequantizes the constants of a tensor in blocks, in the dtype of the parameter."""
    dtype = ty.dtype if isinstance(ty, TensorType) else "float32"
    if isinstance(ty, TensorType) and (ty.static_shape if ty.is_static else data.shape) != data.shape:
        message = f"%{param.name} is {ty!r}, but its value is {data.name}{list(data.shape)}"
        raise IrError([Diagnostic(message, param.span, notes=notes, code=ValueDoesNotFit)])
    if dtype not in REAL:
        message = f"%{param.name} is {ty!r}, but its value, {data.name}{list(data.shape)}, is real"
        raise IrError([Diagnostic(message, param.span, notes=notes, code=ValueDoesNotFit)])
    place = declaration(param)

    def part(x: Any) -> Expr:
        if isinstance(x, int):
            return Constant(np.asarray(x, "int32"))
        return expression(x, "float32") if isinstance(x, BlockTensor) else Constant(x, str(x.dtype), None, place)

    def expression(x: BlockTensor, out: str) -> Expr:
        data = Constant(x.data, x.dtype, None, place)
        axis = len(x.shape) - 1
        return call(
            "qnn.dequantize_blocks", data, part(x.scale), part(x.zero), axis=axis, block_size=x.block, out_dtype=out
        )

    return expression(data, dtype)


def declaration(param: Var) -> Span:
    """The place of a parameter, which knows the parameter's name."""
    span = param.span
    if span is None:
        return Span(Source("<parameters>", f"%{param.name}"), 0, 1 + len(param.name), param.name)
    return Span(span.source, span.start, span.end, param.name)


def with_values(function: Function, values: Mapping[Var, Expr]) -> Function:
    """The function with parameters replaced, but for states, which begin with their values. Types that followed from shapes which only the
    values settle are inferred again."""
    states = state_outputs(function)
    first = {p.name: v for p, v in values.items() if p in states}
    if first:
        values = {p: v for p, v in values.items() if p not in states}
        begin = {**first_values(function), **first}
        function = with_function(function, attrs={**function.attrs, FIRST_VALUES: begin})
    params = tuple(p for p in function.params if p not in values)
    body = substitute(function.body, values)
    attrs = without_inputs(function.attrs, function, values.__contains__)
    if all(_is_settled(p.checked_type or p.type_annotation) for p in values):
        return with_function(function, params=params, body=body, attrs=attrs)
    return without_return_type(with_function(function, params=params, body=without_types(body), attrs=attrs))


def _is_settled(t: Any) -> bool:
    return t is not None and has_static_shapes(t)


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
        from ...infer import infer_known_types

        module = infer_known_types(module)[0]
        missing = {n: _missing_in(f) for n, f in module.functions.items() if isinstance(f, Function)}
    if how == "param":
        return _as_params(module, missing)
    functions = dict(module.functions)
    for name, constants in missing.items():
        if constants:
            memo: dict[Expr, Expr] = {e: _filled(e, how, seed) for e in constants}
            functions[name] = rewrite(functions[name], lambda old, new: new, memo=memo)
    return module.with_functions(functions)


def count_missing_constants(module: Module) -> int:
    """The number of constants with data that was cut off."""
    missing = {e.data for f in module.functions.values() if isinstance(f, Function) for e in _missing_in(f)}
    return len({(d.key, d.index) for d in missing if isinstance(d, MissingData)})


def _missing_in(f: Function) -> list[Constant]:
    return [e for e in post_order(f) if isinstance(e, Constant) and isinstance(e.data, MissingData)]


def _as_params(module: Module, missing: Mapping[str, list[Constant]]) -> Module:
    """The module with missing constants as further parameters, and further arguments of the calls of such functions."""
    needed = {n: {e.data.index: e for e in reversed(constants_of)} for n, constants_of in missing.items()}  # type: ignore[union-attr]  # the data of the constant is there
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

    from ...interp.mistakes import MissingConstant
    from ...interp.random_inputs import random_value

    assert isinstance(e.data, MissingData)
    where = f"meta[{e.data.key}][{e.data.index}]"
    if how == "error":
        raise IrError(
            f"the data of {where} is missing: the metadata section was cut off",
            e.span,
            help="--missing-constants=zeros or =random stands something in for it, =param makes it a parameter",
            code=MissingConstant,
        )
    ty = e.checked_type or e.type_annotation
    if not isinstance(ty, TensorType) or not ty.is_static:
        raise IrError(f"the data of {where} is missing and its type is not known", e.span, code=MissingConstant)
    if how == "zeros":
        data = np.zeros(ty.static_shape, ty.dtype)
    else:
        place = f"constant{e.data.index}"
        data = random_value(ty, place, seed, place)
    return Constant(data, ty.dtype, None, e.span)
