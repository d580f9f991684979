"""`store_tail`, `store_transposed` and `store_joined`: the stores of a tile's results."""

from __future__ import annotations

from dataclasses import replace

from ...diagnostics import UsageError
from ...tir.stmt import VECTORIZED
from ..core.block import Block
from ..core.forms import Form
from ..core.tile_stores import is_joined, is_transposed
from .base import primitive


@primitive
def store_tail(b: Block[Form], results: int) -> Block[Form]:
    """Stores the first `results` elements along the last two axes of a tile; the others are discarded.

    ::

        out[i*8 : i*8 + 8] = acc[0:8]    ⇒    store_tail(5)    out[i*8 : i*8 + 5] = acc[0:5]

    Raises UsageError for a tile of fewer than two axes, or of fewer elements.
    """
    if len(b.tile) < 2 or not 0 < results <= b.tile[-1][1] * b.tile[-2][1]:
        raise UsageError(f"there are no {results} elements along the last two axes of a tile")
    return replace(b, results=results)


@primitive
def store_transposed(b: Block[Form]) -> Block[Form]:
    """Stores results through an array, along the first axis of a tile.

    ::

        out[l, t] = acc[t, l]    ⇒    transposed[t, l] = acc[t, l]; out[l, 0:T] = transposed[0:T, l]

    Storing single elements of a vector, each in a cache line of its own, would take longer than the reduction. Raises UsageError
    unless the tile has two axes and the lanes of a vector, and results are contiguous along the first axis.
    """
    view = b.seen()
    stores = [view.store(s) for s in b.form.stores]
    if len(b.tile) != 3 or not is_transposed(stores, b.tile[-1][0], b.tile[:-1], view.simplify):
        raise UsageError("results are not contiguous along the first axis of a tile")
    return replace(b, transposed=True)


@primitive
def store_joined(b: Block[Form]) -> Block[Form]:
    """Joins the sums along the last axis of a tile, which are single numbers, to a vector that is stored at once.

    ::

        for j in 4 (unrolled): out[j] = f(acc[j])    ⇒    out[0:4] = f(acc[0:4])

    Instructions that sum products to a general register leave single numbers; what follows the sums, such as the multiplication by a
    scale, takes a vector's instructions then. Raises UsageError unless results are contiguous along that axis, which is not a vector.
    """
    view = b.seen()
    if not b.inside or b.kind(b.inside[-1][0]) == VECTORIZED or b.results or b.transposed:
        raise UsageError("the last axis of the tile is no axis of single sums")
    if not is_joined([view.store(s) for s in b.form.stores], b.inside[-1][0], view.simplify):
        raise UsageError("results are not contiguous along the last axis of the tile")
    return replace(b, joined=True)
