"""The states of a network as users name them: an input, and the output that is its value in the next step."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..diagnostics import UsageError, nearest
from ..ir import Function, Module, tuple_leaves
from ..ir.expr import with_function
from ..ir.tensor_names import STATES, output_names, parameters_by_input, state_outputs

_NUMBERED = re.compile(r"(?:out)?(\d+)")


AUTO = "auto"
"""In place of names: the pairs that look like states (see `offered_states`)."""


def with_states(module: Module, entry: str, states: Mapping[str, str] | str) -> Module:
    """The module whose `entry` keeps these inputs in the memory of an instance: names of inputs, each with that of an output; or `auto`.

    Names are those of the model, or of parameters; an output may also be `out`, or `out1` by its number.
    Raises UsageError for a name that no input or output has, and for an output that two inputs are to have.
    """
    function = module.functions.get(entry)
    if not isinstance(function, Function):
        raise UsageError(f"there is no function @{entry} with states")
    if isinstance(states, str):
        return _with_offered(module, entry, states)
    in_model = parameters_by_input(function)
    params = {p.name: p for p in function.params}
    known = [*params, *in_model]
    numbers = {p.name: n for p, n in state_outputs(function).items()}
    names = output_names(function)
    for source, target in states.items():
        name = in_model.get(source, source)
        if name not in params:
            raise UsageError(
                f"the state {source!r} is no input of @{entry}",
                help=nearest(source, known) or f"its inputs: {', '.join(known)}",
            )
        numbers[name] = _output(module, entry, target, names)
        others = [n for n, k in numbers.items() if k == numbers[name] and n != name]
        if others:
            raise UsageError(f"the output {target!r} is to be the next value of {others[0]} and of {name}")
    return _with_numbers(module, entry, function, numbers)


def _with_numbers(module: Module, entry: str, function: Function, numbers: Mapping[str, int]) -> Module:
    outputs = [numbers.get(p.name, -1) for p in function.params]
    return module.with_function(entry, with_function(function, attrs={**function.attrs, STATES: outputs}))


def _with_offered(module: Module, entry: str, states: str) -> Module:
    """The module that keeps the inputs that look like states."""
    from ..infer import require_types  # slow to import
    from .offered_states import offered_states

    if states != AUTO:
        raise UsageError(f"states are names by name, or {AUTO!r}, not {states!r}")
    function = module[entry]
    typed = require_types(module, [entry])[entry]
    assert isinstance(function, Function) and isinstance(typed, Function)
    numbers = offered_states(typed)
    if not numbers:
        raise UsageError(f"no input of @{entry} looks like a state", help="name them: IN=OUT")
    return _with_numbers(module, entry, function, numbers)


def has_states(module: Module, entries: Sequence[str]) -> bool:
    """True if the first entry keeps something from one step to the next. Raises UsageError for states of another entry."""
    with_them = [e for e in entries if isinstance(f := module.functions.get(e), Function) and state_outputs(f)]
    if with_them and with_them != [entries[0]]:
        other = next(e for e in with_them if e != entries[0])
        raise UsageError(
            f"@{other} has states, and only the first entry may have some", help=f"name --entry={other} first"
        )
    return bool(with_them)


def _output(module: Module, entry: str, target: str, names: tuple[str, ...]) -> int:
    """The number of the output of that name."""
    if target in names:
        return names.index(target)
    from ..infer import require_types  # slow to import

    typed = require_types(module, [entry])[entry]
    count = len(list(tuple_leaves(typed.body.known_type))) if isinstance(typed, Function) else 0
    match = _NUMBERED.fullmatch(target)
    number = int(match[1]) if match is not None else 0 if target == "out" else count
    if number >= count:
        known = names or tuple(f"out{n}" for n in range(count))
        raise UsageError(
            f"@{entry} has no output {target!r}", help=nearest(target, known) or f"its outputs: {', '.join(known)}"
        )
    return number
