"""The first layer whose value differs between two ways of running."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from .comparing import difference, evaluate_in_double
from .run_steps import Rows

if TYPE_CHECKING:
    from ..ir import Function, Module


def check_layers(function: Function, compare: Sequence[str]) -> None:
    """Raises UsageError unless there are two ways to compare and no states."""
    from ..diagnostics import UsageError
    from ..ir.tensor_names import state_outputs
    from .mistakes import ClashingOptions

    if not compare:
        raise UsageError("--per-layer compares two ways of running", help="--compare interp,c", code=ClashingOptions)
    if state_outputs(function):
        raise UsageError(
            "--per-layer compares single runs, and this network has states",
            help="leave out --state: states are inputs and outputs then",
            code=ClashingOptions,
        )


def compare_layers(
    module: Module,
    entry: str,
    rows: Rows,
    ways: Sequence[str],
    run: Callable[[Module, str], Any],
    tolerance: float,
) -> None:
    """Prints, for each further way, the first layer whose value differs from that of the first way, or that all agree.

    All values are outputs for this comparison, so kernels are compiled apart that a build fuses; the comparison of outputs that follows is of the
    build as it is.

    Args:
        run: the values of a module by a way of running.
        tolerance: the largest difference, relative to the largest number of the layer.
    """
    from functools import cache

    from .intermediate import with_every_value

    every, layers = with_every_value(module, entry)
    if not layers:
        click.echo("there are no layers to compare")
        return
    first = run(every, ways[0])
    exact = cache(lambda: evaluate_in_double(every, rows, entry))
    for way in ways[1:]:
        other = run(every, way)
        for n, (layer, a, b) in enumerate(zip(layers, first, other, strict=True)):

            def in_double(number: int = n) -> Any | None:
                values = exact()
                return None if values is None else values[number]

            agrees, detail, _ = difference(ways[0], a, way, b, tolerance, in_double)
            if not agrees:
                where = f" at {layer.place}" if layer.place else ""
                click.echo(f"layer {n + 1} of {len(layers)}, {layer.name}{where}: {ways[0]} and {way} differ {detail}")
                break
        else:
            click.echo(f"{ways[0]} and {way}: {len(layers)} of {len(layers)} layers agree")
