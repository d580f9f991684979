"""Elements that a result is computed from: a type rule says of which axes it needs some, or so many.

Inference refuses a call whose axes surely have fewer. Where only a run knows, the interpreter and compiled code compare the extents
before they compute the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..ir.dims import Dim
from ..symbolic_int import interval
from .errors import RelationError


@dataclass(frozen=True)
class RequiredElements:
    """Axes of arguments that a result with an element needs elements of.

    Attributes:
        extents: of these axes.
        results: extents of the result. If one is 0, nothing is needed.
        message: the error of an axis with fewer than `least`.
    """

    extents: tuple[Dim, ...]
    results: tuple[Dim, ...]
    message: str
    least: int = 1

    @property
    def are_missing(self) -> bool:
        """True if an axis has too few elements, whatever a run decides."""
        return any(isinstance(d, int) and interval(d)[1] < self.least for d in self.extents) and all(
            isinstance(d, int) and interval(d)[0] > 0 for d in self.results
        )

    @property
    def are_certain(self) -> bool:
        """True if no axis has too few elements, whatever a run decides."""
        return all(isinstance(d, int) and interval(d)[0] >= self.least for d in self.extents) or 0 in self.results


def require(extents: Sequence[Dim], results: Sequence[Dim], message: str, least: int = 1) -> RequiredElements:
    """The elements that a rule requires. Raises RelationError if they are surely missing."""
    required = RequiredElements(tuple(extents), tuple(results), message, least)
    if required.are_missing:
        raise RelationError(message)
    return required
