"""The report on the weights of a training step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Report:
    """The weights of a step.

    Attributes:
        trained: the numbers of elements of trained weights, by name.
        unchanged: the reasons of the weights that stay as they are, by name.
        statistics: the names of running statistics.
        state_bytes: of all states.
        dropped_outputs: names of outputs that have no part in the loss.
        separated: the names of weights that the model has as one with another of equal elements, with the name of that one.
    """

    trained: dict[str, int] = field(default_factory=dict)
    unchanged: dict[str, str] = field(default_factory=dict)
    statistics: tuple[str, ...] = ()
    state_bytes: int = 0
    dropped_outputs: tuple[str, ...] = ()
    separated: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The report as a dictionary of JSON."""
        return {
            "trained": self.trained,
            "unchanged": self.unchanged,
            "statistics": list(self.statistics),
            "state_bytes": self.state_bytes,
            "dropped_outputs": list(self.dropped_outputs),
            "separated": self.separated,
        }
