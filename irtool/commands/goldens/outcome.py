"""The outcome of a case."""

from __future__ import annotations

from dataclasses import dataclass

PASSED, FAILED, SKIPPED, XFAILED = "passed", "failed", "skipped", "failed as expected"


@dataclass(frozen=True)
class Outcome:
    """The result of one case: `message` says why it failed, was skipped, or was expected to fail."""

    name: str
    state: str = PASSED
    message: str = ""

    @property
    def passed(self) -> bool:
        """True unless it failed."""
        return self.state != FAILED
