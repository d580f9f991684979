"""Arrays in blocks, so that a question about large weights copies little."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from .deferred import np

BLOCK = 1 << 20
"""Elements of a block: few enough to stay in a cache of the second level, enough that numpy's calls cost nothing."""


def blocks(data: Any, elements: int = BLOCK) -> Iterator[Any]:
    """The elements of an array, in their order, as contiguous arrays of at most so many elements.

    A block is a view where the array is contiguous, and a copy otherwise; no reshape copies the whole of a transposed one.
    """
    array = np.atleast_1d(data)
    shape = array.shape
    outer = next(n for n in range(1, len(shape) + 1) if math.prod(shape[n:]) <= elements)
    rows = max(1, elements // max(1, math.prod(shape[outer:])))
    for index in np.ndindex(*shape[: outer - 1]):
        part = array[index]
        for begin in range(0, shape[outer - 1], rows):
            yield np.ascontiguousarray(part[begin : begin + rows])
