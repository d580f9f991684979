"""Options that belong together, which a command gets as one value."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def grouped(argument: str, make: Callable[..., Any], *options: Decorator) -> Decorator:
    """Adds `options` to a command, in this order, and hands it `argument=make(…)` in their place.

    `make` gets the values by the options' names.
    """

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        names: list[str] = []

        @functools.wraps(function)
        def wrapped(*args: Any, **values: Any) -> Any:
            group = make(**{name: values.pop(name) for name in names})
            return function(*args, **{argument: group}, **values)

        command: Callable[..., Any] = wrapped
        before = len(_parameters(command))
        for option in reversed(options):
            command = option(command)
        names += dict.fromkeys(p.name for p in _parameters(command)[before:])
        return command

    return add


def as_flags(**values: Any) -> Mapping[str, Any]:
    """Flags of a backend by name, those left out that are not given."""
    return {name: value for name, value in values.items() if value not in (None, "", ())}


def _parameters(function: Any) -> list[Any]:
    """The parameters that click's decorators have left on a function."""
    return getattr(function, "__click_params__", [])
