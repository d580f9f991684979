"""Passes or a backend fail."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from ...diagnostics import IrError
from ..case import Case
from .outcome import INTERPRETER, is_rejection, observe


@dataclass
class Crashes:
    """Passes or the backend `via` fail by their own fault: a bug of irtool, of a pass from outside, or code that its compiler
    refuses. Of the first case the kind of failure is noted, and only failures of that kind count from then on.

    Attributes:
        kind: the class of the error, the pass, and the function that raised it, or the codes of what the pass broke.
    """

    via: str = INTERPRETER
    entry: str = "main"
    level: int | None = None
    kind: tuple[str, ...] = ()

    def __call__(self, case: Case) -> bool:
        error = observe(case, self.via, self.entry, self.level).error
        if error is None or is_rejection(error):
            return False
        kind = kind_of(error)
        self.kind = self.kind or kind
        return kind == self.kind

    def describe(self) -> str:
        """The finding, for messages."""
        return ": ".join(part for part in self.kind if part)


def kind_of(error: Exception) -> tuple[str, ...]:
    """A key of a failure, equal for the same failure."""
    cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
    failed = getattr(error, "failed", None)
    name = getattr(failed, "name", "") if failed is not None else ""
    if isinstance(cause, IrError):
        codes = {d.code.name for d in cause.diagnostics if d.code is not None}
        return type(cause).__name__, name, *sorted(codes)
    place = "" if isinstance(cause, RecursionError) else _place(cause)
    return type(cause).__name__, name, place


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return frames[-1].name if frames else ""
