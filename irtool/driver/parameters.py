"""Binds weights to the entry functions. Each is checked against its parameter, and all mistakes are reported at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..diagnostics import Diagnostic, IrError, nearest
from ..infer import param_types
from ..ir import Expr, Function, Module, Var
from ..parser.params import origin
from ..passes.core.bind import weight_of, with_values
from .mistakes import WeightsDoNotFit


def bind_weights(
    module: Module,
    params: Mapping[str, Any],
    entries: Sequence[str],
    inputs: Sequence[str] | None = None,
) -> Module:
    """The module with parameters of its entries replaced by constants.

    Args:
        params: arrays by parameter name; a parameter of that name is replaced in every entry that has one.
        inputs: names of the parameters that stay parameters; None: all that have no weight.

    Raises IrError with every weight that belongs to no parameter or has another shape or dtype, and, where `inputs` are
    given, every parameter that is neither input nor weight.
    """
    functions = {e: f for e in entries if isinstance(f := module.functions.get(e), Function)}
    names = list(dict.fromkeys(p.name for f in functions.values() for p in f.params))
    listed = ", ".join("@" + e for e in entries)
    problems: list[Diagnostic] = []
    for name in params:
        if name not in names:
            problems.append(
                Diagnostic(
                    f"the weight {name!r} is not used: {listed} has no parameter %{name}",
                    notes=origin(params, name),
                    help=nearest(name, names),
                    code=WeightsDoNotFit,
                )
            )
    for name in inputs or ():
        if name not in names:
            problems.append(
                Diagnostic(
                    f"{listed} has no parameter %{name} that could be an input",
                    help=nearest(name, names),
                    code=WeightsDoNotFit,
                )
            )
        elif name in params:
            problems.append(Diagnostic(f"%{name} is declared as an input, but has a weight", code=WeightsDoNotFit))
    bound: dict[str, Function] = {}
    for entry, f in functions.items():
        types = param_types(module, entry)
        values: dict[Var, Expr] = {}
        for p in f.params:
            if p.name in params:
                try:
                    values[p] = weight_of(p, types.get(p.name), params[p.name], origin(params, p.name))
                except IrError as error:
                    problems += error.diagnostics
            elif inputs is not None and p.name not in inputs:
                ty = f": {types[p.name]!r}" if p.name in types else ""
                problems.append(
                    Diagnostic(f"there is no weight for the parameter %{p.name}{ty}", p.span, code=WeightsDoNotFit)
                )
        if values:
            bound[entry] = with_values(f, values)
    if problems:
        raise IrError(problems)
    return module.with_functions({**module.functions, **bound}) if bound else module
