"""`--cache-dtype`: the dtype of caches among the states of a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..ir import Module

cache_option = click.option(
    "--cache-dtype",
    type=click.Choice(["float16", "bfloat16", "float32", "int8"]),
    default=None,
    show_default="that of the model",
    help="Dtype of caches, states to which steps add rows, such as keys and values; int8: with a scale for each row of a head.",
)
"""`--cache-dtype`, for commands with `--state`."""


def with_cache_dtype(module: Module, entry: str, dtype: str | None, **context: Any) -> Module:
    """The typed module with its caches in that dtype; None leaves it. `context`: of the pass, as `run_passes` takes it."""
    if dtype is None:
        return module
    from ..driver.caches import convert_caches
    from ..passes import run_passes

    return convert_caches(module, dtype, lambda m, passes: run_passes(m, passes, **context))


__all__ = ["cache_option", "with_cache_dtype"]
