"""Sums of products of data and weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...tir.expr import Const, Load
from ...tir.forms import Reduction
from ...tir.stmt import Buffer


def factors_with_weights(
    r: Reduction, read: tuple[Load, Load] | None, inputs: Sequence[Buffer]
) -> Iterator[tuple[Load, Load]]:
    """The two factors of a sum from zero in float32, without guards, as data and weights, as often as one can be weights: those are
    among the inputs, and not what the other is of."""
    if r.guards or r.acc.dtype != "float32" or read is None:
        return
    if not isinstance(r.init, Const) or r.init.value:
        return
    for data, weights in (read, read[::-1]):
        if weights.source in inputs and data.source is not weights.source:
            yield data, weights
