"""Checking that written types are types: definitions exist, and are applied to as many arguments as they have."""

from __future__ import annotations

from ..diagnostics import IrError, Span, nearest
from ..ir import GlobalTypeVar, Module, Type, TypeCall, type_children


def check_type(root: Type, module: Module | None, span: Span | None) -> None:
    """IrError unless every type definition named in `root` exists and is applied to the right number of arguments."""
    stack = [root]
    while stack:
        t = stack.pop()
        if isinstance(t, TypeCall):
            if not isinstance(t.func, GlobalTypeVar):
                raise IrError(f"{t.func} cannot be applied to types: it is not a type definition", t.span or span)
            _check_definition(t.func, len(t.args), module, t.span or span)
            stack.extend(reversed(t.args))
        elif isinstance(t, GlobalTypeVar):
            _check_definition(t, 0, module, t.span or span)
        else:
            stack.extend(reversed(type_children(t)))


def _check_definition(header: GlobalTypeVar, given: int, module: Module | None, span: Span | None) -> None:
    definitions = module.type_definitions if module is not None else {}
    data = definitions.get(header.name)
    if data is None:
        raise IrError(f"the type {header.name} is not defined", span, help=nearest(header.name, definitions))
    if len(data.type_vars) != given:
        raise IrError(f"the type {header.name} takes {len(data.type_vars)} arguments, {given} given", span)
