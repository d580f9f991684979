"""Checks of a strategy from outside irtool before its first use."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from numbers import Real
from typing import Any

from ...plugin.mistakes import adopt, guard_methods, refuse
from ...tir.stmt import Stmt


def adopt_strategy(cls: Any, name: str, base: type, offer: type) -> None:
    """Wraps the methods of a class from outside with checks; `offer` is the class of its candidates.

    Raises PluginError for a class that is no strategy, or lacks a method.
    """
    adopt(cls, "strategy", name)
    if not (isinstance(cls, type) and issubclass(cls, base)):
        raise refuse(cls, "the class is no strategy", help=f"derive it from irtool.schedule.{base.__name__}")
    lacking = sorted(getattr(cls, "__abstractmethods__", ()))
    if lacking:
        raise refuse(
            cls, f"the strategy has no {' and no '.join(lacking)}", help=f"define {_signatures(base, lacking)}"
        )

    def chosen(s: Any, arguments: Sequence[Any], result: Any) -> str:
        if result is None:
            return ""
        if not isinstance(result, offer):
            return f"returned {_show(result)}, not a {offer.__name__} or None"
        cost = getattr(result, "cost", None)
        return "" if isinstance(cost, Real) else f"offered a cost that is {_show(cost)}, not a number"

    def applied(s: Any, arguments: Sequence[Any], result: Any) -> str:
        return "" if isinstance(result, Stmt) else f"returned {_show(result)}, not a statement such as `lower` makes"

    for each in cls.__mro__[: cls.__mro__.index(base)]:
        guard_methods(each, {"choose": chosen, "apply": applied}, ())


def _signatures(base: type, methods: Sequence[str]) -> str:
    return " and ".join(f"{m}({', '.join(inspect.signature(getattr(base, m)).parameters)})" for m in methods)


def _show(value: Any) -> str:
    return "None" if value is None else f"an object of class {type(value).__name__}"
