"""Constants as parameters: the opposite of binding parameters."""

from __future__ import annotations

from typing import Any

from ...diagnostics import IrError
from ...ir import (
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
from ...ir.conversion import marked
from ...printer.literals import has_literal
from .bind import count_missing_constants, fill_missing_constants

_KEY = "irtool.external"
_KEEPING = ("Primitive", "Compiler", "Extern")
"""Attributes of functions whose constants belong to them: kernels and functions for other code generators."""


def constants_as_params(module: Module, entry: str = "main") -> tuple[Module, dict[str, Any]]:
    """The module with its constants as further parameters `constant0`, `constant1`, … of the functions that need them, and their
    values by these names.

    Scalars that text has literals for stay, and so do constants of kernels. Raises IrError if values are missing, and where a
    function that needs some is used as a value.
    """
    if missing := count_missing_constants(module):
        raise IrError(f"the values of {missing} constants are missing: they cannot be written")
    numbers: dict[Constant, int] = {}
    inside_literals: set[Constant] = set()
    functions = {n: f for n, f in module.functions.items() if isinstance(f, Function)}
    for f in functions.values():
        nodes = post_order(f)
        for inner in nodes:
            if isinstance(inner, Function) and any(key in inner.attrs for key in _KEEPING):
                inside_literals.update(e for e in post_order(inner) if isinstance(e, Constant))
        for e in nodes:
            if isinstance(e, Constant) and not isinstance(e.data, MissingData):
                if not (e.is_scalar and has_literal(e.dtype)):
                    numbers.setdefault(e, len(numbers))
    numbers = {e: n for n, e in enumerate(e for e in numbers if e not in inside_literals)}
    if not numbers:
        return module, {}
    taken = {p.name for f in functions.values() for p in f.params}
    clashing = sorted(taken & {f"constant{n}" for n in numbers.values()})
    first = 1 + max((int(name[8:]) for name in clashing), default=-1)
    memo: dict[Expr, Expr] = {}
    values: dict[str, Any] = {}
    for e, n in numbers.items():
        ty = TensorType(e.data.shape, e.dtype)  # type: ignore[union-attr]  # none of them is missing
        memo[e] = Constant(MissingData(first + n, _KEY), e.dtype, ty, e.span)
        values[f"constant{first + n}"] = marked(e.data, e.dtype)  # type: ignore[arg-type]  # none of them is missing
    bare = {name: rewrite(f, lambda old, new: new, memo=memo) for name, f in functions.items()}
    filled = fill_missing_constants(module.with_functions({**module.functions, **bare}), "param")
    return _named_apart(filled, functions, entry), values


def _named_apart(module: Module, before: dict[str, Function], entry: str) -> Module:
    """The same, with `entry` alone having parameters of the values' names: a text names each variable once."""
    functions = dict(module.functions)
    for name, old in before.items():
        f = functions[name]
        assert isinstance(f, Function)
        added = f.params[len(old.params) :]
        if name != entry and added:
            own = {p: Var(f"{name}_{p.name}", p.type_annotation, p.span) for p in added}
            params = (*f.params[: len(old.params)], *own.values())
            functions[name] = with_function(f, params=params, body=substitute(f.body, own))
    return module.with_functions(functions)
