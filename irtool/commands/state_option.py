"""`--state`: inputs that stay in the memory of an instance."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from .mistakes import BadValue, ClashingOptions
from .param_facts import ParamFacts

AUTO = "auto"


def _states(ctx: click.Context, option: click.Parameter, items: tuple[str, ...]) -> dict[str, str] | str:
    """Names in `IN=OUT`, or `auto`. Raises UsageError for another form, and for an input that is named twice."""
    from ..diagnostics import UsageError

    if items == (AUTO,):
        return AUTO
    result: dict[str, str] = {}
    for item in items:
        source, equals, target = (part.strip() for part in item.rpartition("="))
        if not equals or not source or not target:
            raise UsageError(
                f"cannot read the state {item!r}", help="write IN=OUT, as in h=h_out, or auto alone", code=BadValue
            )
        name = source.removeprefix("%")
        if name in result:
            raise UsageError(f"--state is given twice for {name}", code=ClashingOptions)
        result[name] = target
    return result


def state_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--state` to a command with `type_options` around it, whose `ParamFacts` get the states."""

    @functools.wraps(function)
    def wrapped(*args: Any, states: Any, param_facts: ParamFacts, **rest: Any) -> Any:
        return function(*args, param_facts=replace(param_facts, states=states), **rest)

    return click.option(
        "--state",
        "states",
        multiple=True,
        callback=_states,
        metavar="IN=OUT|auto",
        help="Keep an input in the memory of an instance of the network: the output is its value in the next step. "
        "Outputs without names in the model are `out`, or `out0`, `out1`, …. `auto`: "
        "the pairs that `irtool info` lists. Repeatable.",
    )(wrapped)
