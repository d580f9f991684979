"""The values that a function is run on: those given, and random ones for the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from .param_facts import ParamFacts

if TYPE_CHECKING:
    from ..diagnostics import Diagnostic
    from ..ir import Function, Module, Var


def parameter_values(
    function: Function,
    before: Module,
    entry: str,
    param_facts: ParamFacts,
    seed: int,
    random: bool,
    numbering: Mapping[str, int],
) -> tuple[list[Any], list[str]]:
    """The values of the parameters, in order, and the names of those that have random ones.

    Args:
        before: the module before passes: what it does with a parameter says of which kind its random values are.
        random: whether they may be made at all.
        places: of the parameters in the text, where weights were among them: the numbers follow from these.

    Raises IrError for a value of no parameter, for one that does not fit, and for those that are missing.
    """
    from ..diagnostics import IrError, nearest
    from ..infer.lengths import type_at
    from ..interp.mistakes import MissingValue
    from ..interp.random_inputs import random_value
    from ..interp.steps import zeros_of
    from ..interp.value_hints import Uses
    from ..ir.inputs import check_inputs
    from ..ir.tensor_names import state_outputs
    from .images import OPTIONS, is_image
    from .run_lengths import known_lengths

    known_values, origins = param_facts.values, param_facts.origins
    names = [p.name for p in function.params]
    for name in known_values:
        if name not in names:
            have = ", ".join("%" + n for n in names) or "none"
            notes = (f"the parameters are {have}", f"the value of %{name} is from {origins[name]}")
            raise IrError(f"there is no parameter %{name}", help=nearest(name, names), notes=notes, code=MissingValue)
    states = state_outputs(function)
    for p in states:
        if p.name in known_values:
            help = "--params gives the value with which it begins"
            raise IrError(f"%{p.name} is a state, which no input gives", help=help, code=MissingValue)
    missing = [p for p in function.params if p.name not in known_values and p not in states]
    if missing and not random:
        raise IrError(map(_missing, missing))
    earlier = before[entry]
    value_uses = Uses(earlier, before) if missing else None
    written = {p.name: p for p in earlier.params}
    lengths = known_lengths(function, known_values)
    values = []
    for place, p in enumerate(function.params):
        ty = p.checked_type or p.type_annotation
        if p.name in known_values:
            values.append(known_values[p.name])
        elif p in states:
            values.append(zeros_of(p, lengths))
        elif ty is None:
            raise IrError(f"the type of parameter %{p.name} is not known", p.span)
        else:
            assert value_uses is not None
            kind = partial(value_uses.of, written.get(p.name, p))
            number = numbering.get(p.name, place)
            values.append(random_value(type_at(ty, lengths), p.name, seed, number, p.span, kind, before))
    try:
        return check_inputs(function.params, values, entry, origins, function.span), [p.name for p in missing]
    except IrError as error:
        if not any(map(is_image, param_facts.single.values())):
            raise
        raise IrError([replace(d, help=d.help or OPTIONS) for d in error.diagnostics]) from None


def _missing(p: Var) -> Diagnostic:
    from ..diagnostics import Diagnostic
    from ..interp.mistakes import MissingValue

    ty = p.checked_type or p.type_annotation
    message = f"there is no value for the parameter %{p.name}" + (f": {ty!r}" if ty is not None else "")
    return Diagnostic(
        message, p.span, help=f"--input {p.name}=FILE.npy, --inputs or --params give one", code=MissingValue
    )
