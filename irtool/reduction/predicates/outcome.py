"""Outcomes of cases: the passes run, and a backend builds their result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...diagnostics import IrError
from ...ir import Module
from ..case import Case

INTERPRETER = "interp"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a case.

    Attributes:
        module: the result of the passes; None if they failed.
        artifact: the build of a backend; None without a build, or if it failed.
        error: the raised exception.
    """

    module: Module | None = None
    artifact: Any = None
    error: Exception | None = None


def observe(case: Case, via: str = INTERPRETER, entry: str = "main", level: int | None = None) -> Outcome:
    """Runs the passes, and builds their result by the backend `via`, at a level, unless that is the interpreter."""
    module = artifact = None
    try:
        module = case.run()
        if via != INTERPRETER:
            from ...driver.build import build

            artifact = build(module, None, via, level, entry=entry)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - the search looks for failures
        return Outcome(module, None, error)
    return Outcome(module, artifact)


def is_rejection(error: Exception | None) -> bool:
    """True for an error that the input is to blame for."""
    return isinstance(error, IrError) and error.exit_code in (1, 2) and getattr(error, "failed", None) is None
