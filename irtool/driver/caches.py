"""The dtype of caches: the pass that converts them, and the error that results over some steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..diagnostics import UsageError, nearest
from ..ir import Function, Module
from .precision import PrecisionError, precision_error, stacked

_STEPS = 2
"""Steps that the error is measured over: the second one reads rows of the first one."""


def check_cache_dtype(dtype: str) -> None:
    """Raises UsageError for an unknown dtype; the empty one leaves caches as they are."""
    if not dtype:
        return  # a run of a cached build does without passes
    from ..passes.caches.forms import DTYPES

    if dtype not in DTYPES:
        raise UsageError(f"cache_dtype={dtype!r} is not one of {', '.join(DTYPES)}", help=nearest(dtype, DTYPES))


def convert_caches(module: Module, dtype: str, transform: Callable[[Module, Sequence[str]], Module]) -> Module:
    """The typed module with its caches in this dtype; `transform` runs passes. Raises IrError if there are no caches, or some that cannot be so."""
    return transform(module, (f'ConvertCaches{{dtype="{dtype}"}}',))


def measure_cache_error(exact: Module, converted: Module, entry: str, seed: int = 0) -> PrecisionError:
    """The error of a module with converted caches, in the interpreter, over steps of as many rows as there may be, with random inputs."""
    results = [_evaluate_steps(m, entry, seed) for m in (exact, converted)]
    return precision_error(*results)


def _evaluate_steps(module: Module, entry: str, seed: int) -> tuple[Any, ...]:
    # A run of a cached build checks the name of the dtype, and does without types and the interpreter.
    from ..infer import require_types
    from ..infer.lengths import symbols_of_params
    from ..interp.cut_values import cut_values
    from ..interp.random_inputs import random_inputs
    from ..interp.steps import Positions, Steps
    from ..ir.tensor_names import state_outputs
    from .state_lengths import with_state_lengths

    module = with_state_lengths(require_types(module, [entry]), entry)
    function = module[entry]
    assert isinstance(function, Function)
    states, positions, steps = state_outputs(function), Positions(function), Steps(module, entry)
    results = []
    for number in range(_STEPS):
        lengths = {s: s.typical for s in symbols_of_params(function)} | positions.values
        if positions.are_full(lengths):
            break
        values = cut_values(function, random_inputs(function, seed + number, module), lengths)
        assert values is not None, "random inputs have the greatest lengths"
        results.append(steps.step([v for p, v in zip(function.params, values, strict=True) if p not in states]))
        positions.advance(lengths)
    return stacked(results)


def cache_error_sentence(dtype: str, error: PrecisionError) -> str:
    """The sentence on the error of caches in a dtype."""
    return f"caches in {dtype}: error against those of the model: {error} (random inputs)"
