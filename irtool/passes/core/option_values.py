"""Options of passes and instruments that somebody gives by name: known ones, of the right kind, none missing."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ...diagnostics import UsageError, nearest
from .mistakes import WrongPassOption


def check_options(
    kind: str,
    name: str,
    known: Mapping[str, dataclasses.Field],
    hints: Mapping[str, Any],
    options: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """The options of the plug-in `name`, coerced to the kinds that `hints` says.

    Raises UsageError for one that is not among the `known`, for a value of the wrong kind, and for one that has no default and
    is not given.
    """
    from ...ops.base import coerce

    values = {}
    for key, value in (options or {}).items():
        if key not in known:
            have = f"it has {', '.join(known)}" if known else "it has none"
            raise UsageError(
                f"{kind} {name} has no option {key} ({have})", help=nearest(key, known), code=WrongPassOption
            )
        try:
            values[key] = coerce(value, hints[key])
        except (TypeError, ValueError) as error:
            raise UsageError(f"option {key} of {kind} {name}: {error}", code=WrongPassOption) from None
    for key, field in known.items():
        if key not in values and dataclasses.MISSING is field.default is field.default_factory:
            raise UsageError(f"{kind} {name} needs the option {key}: write {name}{{{key}=…}}", code=WrongPassOption)
    return values


def require_operator(name: str, option: str) -> None:
    """Raises UsageError if an option of a pass names an operator that does not exist."""
    from ...ops.base import operators

    if name not in operators:
        raise UsageError(f"unknown operator {name} in {option}", help=nearest(name, operators.names()))
