"""Lengths for elements of tensors: numbers where these are known, and new lengths that a step sets otherwise."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import Call, Expr
from ...ops.base import call
from .fresh import Fresh
from .ranges import Range, RangeAnalysis


class Lengths:
    """Makes lengths for the elements of tensors, whose ranges are known."""

    def __init__(self, ranges: RangeAnalysis, fresh: Fresh) -> None:
        self.ranges = ranges
        self.fresh = fresh
        self.least = 0
        """The least value of new lengths."""

    def set_from(
        self, data: Expr, values: Expr, possible: Sequence[Range], e: Call, what: str
    ) -> tuple[Expr, list[int]]:
        """The elements of `values` as numbers and lengths, and the data, which are there once these lengths are set."""
        numbers: list[int] = []
        new: list[int] = []
        places: list[int] = []
        for place, r in enumerate(possible):
            if r.exact is not None:
                numbers.append(r.exact)
                continue
            length = self.fresh.length(
                Range(max(r.least or 0, self.least), r.high),
                e,
                f"{what}[{place}] of {e.op!r}" if len(possible) > 1 else f"{what} of {e.op!r}",
            )
            numbers.append(length)
            new.append(length)
            places.append(place)
        if new or self.fresh.has_any(numbers):
            data = call("length.set", data, values, lengths=new, places=places, span=e.span)
        return data, numbers
