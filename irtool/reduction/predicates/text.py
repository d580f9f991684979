"""A regular expression matches the printed module or the error message."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...diagnostics import IrError, render
from ...printer import to_text
from ..case import Case
from .outcome import INTERPRETER, observe


@dataclass
class Says:
    """A regular expression matches somewhere in the text of the module after the passes, or in the error message."""

    pattern: re.Pattern[str]
    via: str = INTERPRETER
    entry: str = "main"
    level: int | None = None

    def __call__(self, case: Case) -> bool:
        outcome = observe(case, self.via, self.entry, self.level)
        text = to_text(outcome.module) if outcome.module is not None else ""
        error = outcome.error
        if error is not None:
            text += render(error) if isinstance(error, IrError) else f"{type(error).__name__}: {error}"
        return self.pattern.search(text) is not None

    def describe(self) -> str:
        """The finding, for messages."""
        return f"{self.pattern.pattern!r} matches"
