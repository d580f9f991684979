"""Runs of a network over several steps: its inputs in each, and the outputs of all, one behind the other along a further axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .mistakes import ClashingOptions
from .param_facts import ParamFacts

if TYPE_CHECKING:
    from ..driver.artifact import Artifact
    from ..driver.instance import Instance
    from ..interp.steps import Positions
    from ..ir import Function, Module
    from ..symbolic_int import Symbol

Rows = Sequence[list[Any]]
"""The values of parameters but for states, for each step; one row for a network without states."""


def step_values(
    function: Function,
    param_facts: ParamFacts,
    seed: int,
    steps: int,
    values_of: Callable[[ParamFacts, int], tuple[list[Any], list[str]]],
) -> tuple[Rows, list[Any], list[str]]:
    """The rows, the values of all parameters in the first step, and the names of those that have random ones, which each step draws anew.

    An array with a further axis in front has the values of each step.

    Args:
        values_of: values and random names for facts and a seed.

    Raises UsageError for steps of a network without states, and for an array of another number of steps.
    """
    from ..diagnostics import UsageError
    from ..interp.steps import Positions
    from ..ir.tensor_names import state_outputs

    states = state_outputs(function)
    if not states:
        if steps > 1:
            raise UsageError("--steps is for networks with states", help="add --state IN=OUT", code=ClashingOptions)
        values, random = values_of(param_facts, seed)
        return [values], values, random
    rows: list[list[Any]] = []
    first: list[Any] = []
    missing: list[str] = []
    positions = Positions(function)
    for step in range(steps):
        values, missing = values_of(_at_step(function, param_facts, step, steps), seed + step)
        if positions.values:
            values = _at_positions(function, values, positions)
        first = first or values
        rows.append([v for p, v in zip(function.params, values, strict=True) if p not in states])
    return rows, first, missing


def _at_positions(function: Function, values: Sequence[Any], positions: Positions) -> list[Any]:
    """The first elements of values that were drawn for the greatest lengths, as many as the step at these positions has; `positions` are those
    of the next step afterwards."""
    from ..interp.cut_values import cut_values

    lengths = _step_lengths(function, values, positions)
    positions.check(lengths)
    row = cut_values(function, values, lengths)
    assert row is not None, "values are at the greatest positions"
    positions.advance(lengths)
    return row


def _at_step(function: Function, param_facts: ParamFacts, step: int, steps: int) -> ParamFacts:
    """The facts with arrays of a step in place of those of all steps."""
    from ..diagnostics import UsageError
    from ..ir import TensorType
    from ..parser.params import ParameterFile

    arrays = ParameterFile.merged([param_facts.values])
    for p in function.params:
        t, array = p.checked_type or p.type_annotation, arrays.get(p.name)
        if array is None or not isinstance(t, TensorType) or array.ndim != len(t.shape) + 1:
            continue
        if len(array) != steps:
            raise UsageError(
                f"%{p.name} has values of {len(array)} steps", help=f"--steps {len(array)}", code=ClashingOptions
            )
        arrays[p.name] = array[step]
    return param_facts.with_values(arrays)


def _step_lengths(function: Function, values: Sequence[Any], positions: Positions) -> dict[Symbol, int]:
    """The lengths of a step at these positions."""
    from .run_lengths import known_lengths

    names = {p.name: v for p, v in zip(function.params, values, strict=True)}
    return {**known_lengths(function, names), **positions.values}


_MOST_ROWS = 4096


def rows_until_full(function: Function, values: Sequence[Any]) -> list[list[Any]]:
    """The values of parameters but for states, for each step of a function whose steps change lengths until its states are full, 4096 at most;
    empty for other functions. `values` are at the greatest lengths."""
    from ..interp.steps import Positions
    from ..ir.tensor_names import state_outputs

    states, positions = state_outputs(function), Positions(function)
    rows: list[list[Any]] = []
    while (
        positions.values
        and len(rows) < _MOST_ROWS
        and not (rows and positions.are_full(_step_lengths(function, values, positions)))
    ):
        row = _at_positions(function, values, positions)
        rows.append([v for p, v in zip(function.params, row, strict=True) if p not in states])
    return rows


def taking_steps(instance: Instance, rows: Rows) -> Callable[[], Any]:
    """A function that takes the next step of an instance, and begins anew behind the last one."""
    number = 0

    def step() -> Any:
        nonlocal number
        if number == len(rows):
            instance.reset()
            number = 0
        number += 1
        return instance.step(rows[number - 1])

    return step


Keep = Callable[[dict[str, Any]], None]
"""Takes the states by name after the last step."""


def evaluate_rows(module: Module, rows: Rows, entry: str, keep: Keep | None = None) -> Any:
    """The interpreter's result. `keep` gets the states of a network that has any."""
    from ..interp.evaluate import evaluate
    from ..interp.steps import Steps
    from ..ir import Function
    from ..ir.tensor_names import state_outputs

    function = module[entry]
    if not isinstance(function, Function) or not state_outputs(function):
        return evaluate(module, rows[0], entry=entry)
    steps = Steps(module, entry)
    results = [steps.step(row) for row in rows]
    if keep is not None:
        keep(steps.values())
    return stacked(results)


def run_rows(artifact: Artifact, rows: Rows, runner: Sequence[str], keep: Keep | None = None) -> Any:
    """The result of compiled code. `keep` gets the states of a network that has any. Raises UsageError for several steps of a program, and
    for its states."""
    from ..diagnostics import UsageError

    if not artifact.report.get("states"):
        return artifact.run(rows[0], runner=runner)
    if len(rows) == 1 and keep is None:
        return artifact.run(rows[0], runner=runner)
    if artifact._program is not None:
        raise UsageError("--runner and --sanitize run one step, and give no states", code=ClashingOptions)
    instance = artifact.instance()
    results = [instance.step(row) for row in rows]
    if keep is not None:
        keep(instance.values())
    return stacked(results)


def stacked(results: Sequence[Any]) -> Any:
    """The outputs of several steps along a further axis in front, or along the one axis in which they differ; those of one step as they are."""
    import numpy as np

    if len(results) == 1:
        return results[0]
    if isinstance(results[0], tuple):
        return tuple(stacked(list(field)) for field in zip(*results, strict=True))
    shapes = [np.shape(r) for r in results]
    uneven = [axis for axis, extents in enumerate(zip(*shapes, strict=True)) if len(set(extents)) > 1]
    if not uneven:
        return np.stack(results)
    if len(uneven) > 1:
        return np.concatenate([np.ravel(r) for r in results])
    return np.concatenate(results, axis=uneven[0])


def names_without_states(function: Function, names: Sequence[str]) -> Sequence[str]:
    """The names of outputs that are no states."""
    from ..ir.tensor_names import state_outputs

    numbers = set(state_outputs(function).values())
    return [name for n, name in enumerate(names) if n not in numbers]
