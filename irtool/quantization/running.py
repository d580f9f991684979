"""Running a network for the values inside of it: compiled if there is a compiler, else by the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..diagnostics import ToolError
from ..ir import Expr, Function, Module, Tuple, with_function, without_return_type

Run = Callable[[Sequence[Any]], list[Any]]
"""Gives the arrays for inputs."""


def with_results(module: Module, entry: str, function: Function, results: Sequence[Expr]) -> Module:
    """The module with an entry that gives these expressions of `function` as a tuple. Types are those of the expressions."""
    body = Tuple(tuple(results))
    return module.with_function(entry, without_return_type(with_function(function, body=body, attrs={})))


FEW = 8
"""So many runs take the interpreter less time than the C compiler takes to begin with."""


def runner(module: Module, entry: str, via: str, runs: int) -> Run:
    """A function that runs the entry, whose result is a tuple of tensors, so many times.

    `via`: `c`, `interp`, or empty: compiled for more than a few runs, if there is a compiler. The values of both ways differ by
    rounding in the order of sums only.
    """
    if via == "c" or (not via and runs > FEW):
        from ..driver.build import build

        try:
            artifact = build(module, entry=entry, target="c")
            return lambda inputs: list(artifact.run(list(inputs)))
        except ToolError:
            if via == "c":
                raise
    from ..infer import infer_types
    from ..interp.evaluate import evaluate

    typed = infer_types(module)
    return lambda inputs: list(evaluate(typed, list(inputs), entry=entry))
