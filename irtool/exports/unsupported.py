"""Unsupported constructs of a format: gathered while a module is written, and reported all at once."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..diagnostics import Diagnostic, IrError, Span
from .mistakes import NoCounterpart

_SHOWN = 8
"""Further places that a message lists."""


@dataclass
class Unsupported:
    """Each subject (an operator, a construct) once for each reason, in order of first use, with all its places.

    Attributes:
        format: name of the format in messages.
    """

    format: str
    _spans: dict[tuple[str, str], list[Span | None]] = field(default_factory=dict)
    _help: dict[tuple[str, str], str] = field(default_factory=dict)

    def add(self, what: str, reason: str, span: Span | None, help: str = "") -> None:
        """Notes one use of `what`; `reason` is a clause that follows a colon."""
        self._spans.setdefault((what, reason), []).append(span)
        if help:
            self._help[what, reason] = help

    def __bool__(self) -> bool:
        return bool(self._spans)

    def diagnostics(self) -> list[Diagnostic]:
        """One for each subject and reason, at its first place; a note counts the others and says where they are."""
        diagnostics = []
        for (what, reason), spans in self._spans.items():
            known_spans = [s for s in spans if s is not None]
            times = "" if len(spans) == 1 else f" ({len(spans)} uses)"
            others = [f"{s.line}:{s.column}" for s in known_spans[1 : _SHOWN + 1]]
            dots = " …" if len(known_spans) > _SHOWN + 1 else ""
            diagnostics.append(
                Diagnostic(
                    f"{what} has no counterpart in {self.format}{times}: {reason}",
                    known_spans[0] if known_spans else None,
                    notes=(f"also at {', '.join(others)}{dots}",) if others else (),
                    help=self._help.get((what, reason), ""),
                    code=NoCounterpart,
                    subject=what,
                )
            )
        return diagnostics

    def check(self) -> None:
        """Raises IrError if there is anything to report."""
        if self._spans:
            raise IrError(self.diagnostics())
