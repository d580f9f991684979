"""The answers to comparisons that hold for some lengths only: an error, an estimate, or False."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

STRICT, ESTIMATE, PROOF = range(3)
_mode: ContextVar[int] = ContextVar("mode", default=STRICT)


class Undecided(Exception):
    """A comparison that holds for some values of the symbols, and not for others."""


def mode() -> int:
    """The mode of the running function: `STRICT`, `ESTIMATE` or `PROOF`."""
    return _mode.get()


def estimate(function: F) -> F:
    """Decorates a function in which the greatest value of a formula stands for it; see the package."""
    return _in_mode(ESTIMATE, function)


def proof(function: F) -> F:
    """Decorates a function in which a comparison is False unless it holds for all values of the symbols."""
    return _in_mode(PROOF, function)


def strict(function: F) -> F:
    """Decorates a function that computes with formulas exactly, whoever calls it: a comparison that lengths decide raises `Undecided`."""
    return _in_mode(STRICT, function)


def _in_mode(mode: int, function: F) -> F:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        token = _mode.set(mode)
        try:
            return function(*args, **kwargs)
        finally:
            _mode.reset(token)

    return wrapper  # type: ignore[return-value]  # functools.wraps does not keep the type variable


def none_if_undecided(function: F) -> F:
    """Decorates a function that returns None for forms that it does not support: forms that depend on unknown lengths are among them."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Undecided:
            return None

    return wrapper  # type: ignore[return-value]  # functools.wraps does not keep the type variable
