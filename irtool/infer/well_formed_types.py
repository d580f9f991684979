"""Checking that written types are types: definitions exist, and are applied to as many arguments as they have."""

from __future__ import annotations

import math

from ..diagnostics import IrError, Span, nearest
from ..ir import GlobalTypeVar, Module, TensorType, Type, TypeCall, type_children
from ..ir.dims import is_dimension
from ..ir.dtypes import is_dtype
from .mistakes import IllFormedType


def check_type(root: Type, module: Module | None, span: Span | None, known: dict[int, Type]) -> None:
    """IrError unless every type definition named in `root` exists and is applied to the right number of arguments.

    What is `known`, by identity, was looked at before and is not again: types share their parts.
    """
    stack = [root]
    while stack:
        t = stack.pop()
        if id(t) in known:
            continue
        known[id(t)] = t
        if isinstance(t, TypeCall):
            if not isinstance(t.func, GlobalTypeVar):
                raise IrError(
                    f"{t.func} cannot be applied to types: it is not a type definition",
                    t.span or span,
                    code=IllFormedType,
                )
            _check_definition(t.func, len(t.args), module, t.span or span)
            stack.extend(reversed(t.args))
        elif isinstance(t, TensorType):
            _check_tensor(t, t.span or span)
        elif isinstance(t, GlobalTypeVar):
            _check_definition(t, 0, module, t.span or span)
        else:
            stack.extend(reversed(type_children(t)))


def _check_tensor(t: TensorType, span: Span | None) -> None:
    if not is_dtype(t.dtype):
        raise IrError(f"{t.dtype!r} is not a dtype", span, code=IllFormedType)
    wrong = [d for d in t.shape if not is_dimension(d)]
    if wrong:
        raise IrError(f"{wrong[0]} is not a dimension, a number from 0 to 2^63 - 1, in {t}", span, code=IllFormedType)
    count = math.prod([d for d in t.shape if isinstance(d, int)])
    if count >= 1 << 63:
        raise IrError(f"a tensor of {t} has {count} elements: more than 2^63 - 1", span, code=IllFormedType)


def _check_definition(header: GlobalTypeVar, arity: int, module: Module | None, span: Span | None) -> None:
    definitions = module.type_definitions if module is not None else {}
    data = definitions.get(header.name)
    if data is None:
        raise IrError(
            f"the type {header.name} is not defined", span, help=nearest(header.name, definitions), code=IllFormedType
        )
    if len(data.type_vars) != arity:
        raise IrError(
            f"the type {header.name} takes {len(data.type_vars)} arguments, {arity} given", span, code=IllFormedType
        )
