"""Types of values that have handles, and the objects behind them: data, functions as values, references."""

from __future__ import annotations

from ..diagnostics import IrError
from ..ir import Constructor, Expr, FuncType, GlobalTypeVar, Module, RefType, TensorType, Type, TypeCall, tuple_leaves
from ..ir.types import rewrite_type, type_children
from ..tir.dtypes import HANDLE
from .compose import flat_types
from .mistakes import NoCounterpart

_HANDLE_TYPE = TensorType((), HANDLE)


def is_handle(t: Type | None) -> bool:
    """True for a type whose values are handles."""
    return isinstance(t, TypeCall | GlobalTypeVar | RefType | FuncType)


def leaf_types(t: Type | None, what: Expr | None = None) -> list[TensorType]:
    """The tensor types in `t`, tuples flattened, with an int64 for each handle. Raises IrError for other types, and for dimensions that are
    not known."""
    result: list[TensorType] = []
    for x in tuple_leaves(t):  # type: ignore[arg-type]  # types have been inferred
        if isinstance(x, FuncType) and x.type_params:
            raise IrError(
                f"a value of type {x} cannot be a parameter or a result: it is a function, and a function has no representation that "
                "callers could read",
                what.span if what is not None else None,
                code=NoCounterpart,
            )
        result += [_HANDLE_TYPE] if is_handle(x) else flat_types(x, what)
    return result


def handle_leaves(t: Type | None) -> list[bool]:
    """True for each leaf of a type that is a handle."""
    return [is_handle(x) for x in tuple_leaves(t)]  # type: ignore[arg-type]  # types have been inferred


def field_types(module: Module, constructor: Constructor, data: Type | None) -> list[Type]:
    """The types of a constructor's arguments in values of the type `data`."""
    definition = module.type_definitions[constructor.belong_to.name]
    arguments = data.args if isinstance(data, TypeCall) else ()
    bindings: dict[Type, Type] = dict(zip(definition.type_vars, arguments, strict=True))
    return [rewrite_type(t, lambda x: bindings.get(x, x)) for t in constructor.inputs]


def may_be_written(module: Module, t: Type | None) -> bool:
    """True if a value of the type may lead to a reference: directly, in data, or captured by a function."""
    seen: set[str] = set()
    stack: list[Type] = [] if t is None else [t]
    while stack:
        x = stack.pop()
        if isinstance(x, FuncType | RefType):
            return True
        if isinstance(x, GlobalTypeVar):
            definition = module.type_definitions.get(x.name)
            if definition is not None and x.name not in seen:
                seen.add(x.name)
                stack += [i for c in definition.constructors for i in c.inputs]
        else:
            stack += type_children(x)
    return False
