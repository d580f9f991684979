"""`store_tail` and `store_transposed`: how the results of a tile get to memory."""

from __future__ import annotations

from dataclasses import replace

from ..block import Block
from ..forms import Form
from .base import primitive


@primitive
def store_tail(b: Block[Form], results: int) -> Block[Form]:
    """Stores the first `results` elements along the last two axes of a tile; the others are computed in vain.

    ::

        out[i*8 : i*8 + 8] = acc[0:8]    ⇒    store_tail(5)    out[i*8 : i*8 + 5] = acc[0:5]
    """
    return replace(b, results=results)


@primitive
def store_transposed(b: Block[Form]) -> Block[Form]:
    """Results by way of an array, from which they are stored along the first axis of a tile.

    ::

        out[l, t] = acc[t, l]    ⇒    near[t, l] = acc[t, l]; out[l, 0:T] = near[0:T, l]

    Single elements of a vector, each in a line of memory of its own, would take longer than the reduction.
    """
    return replace(b, transposed=True)
