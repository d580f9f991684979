"""A pass changes results that it should not."""

from __future__ import annotations

from dataclasses import dataclass

from ...passes.instruments.values import CheckValues, ResultsChanged
from ..case import Case


@dataclass
class ChangesResults:
    """A pass changes the results of `entry` on `count` random inputs beyond the tolerance of `CheckValues`."""

    entry: str = "main"
    count: int = 1

    def __call__(self, case: Case) -> bool:
        return self.failure(case) is not None

    def failure(self, case: Case) -> ResultsChanged | None:
        """The error of `CheckValues` on the case; None if the results agree, or something else fails."""
        try:
            case.run([CheckValues(self.count, self.entry)])
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - the search does not look for other failures
            return error.__cause__ if isinstance(error.__cause__, ResultsChanged) else None
        return None
