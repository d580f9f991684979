"""`vectorize`, `unroll`, `parallel`: the kinds of loops."""

from __future__ import annotations

from ...diagnostics import UsageError
from ...tir.expr import Var
from ...tir.stmt import PARALLEL, UNROLLED, VECTORIZED
from ...tir.vector_target import MOST_LANES
from ..core.block import Block
from ..core.forms import Form
from ..core.nest import check_vectors
from .base import primitive


@primitive
def vectorize(b: Block[Form], loop: Var | str) -> Block[Form]:
    """All steps of a loop at once, in the elements of vectors.

    ::

        for i in 8: out[i] = x[i] + y[i]    ⇒    vectorize(i)    out[0:8] = x[0:8] + y[0:8]

    Raises UsageError unless the loop is the innermost one over results, its extent is a power of two of at most 64, and no step
    of it depends on a condition.
    """
    v, extent = b.find(loop)
    if not b.loops or b.loops[-1][0] is not v:
        raise UsageError(f"{v.name} is not the innermost loop over results", help="reorder them first")
    if extent & (extent - 1):
        raise UsageError(f"vectors have a power of two as their number of elements, and {v.name} has {extent} steps")
    if extent > MOST_LANES:
        raise UsageError(
            f"vectors have at most {MOST_LANES} elements, and {v.name} has {extent} steps", help="split it first"
        )
    block = b.with_kind(loop, VECTORIZED)
    check_vectors(block)
    return block


@primitive
def unroll(b: Block[Form], loop: Var | str) -> Block[Form]:
    """The steps of a loop one after the other, without a loop.

    ::

        for i in 2: acc[i] = acc[i] + x[i]    ⇒    unroll(i)    acc[0] = acc[0] + x[0]; acc[1] = acc[1] + x[1]
    """
    return b.with_kind(loop, UNROLLED)


@primitive
def parallel(b: Block[Form], loop: Var | str) -> Block[Form]:
    """The steps of a loop over results shared among threads; they are independent."""
    b.depth(loop)
    return b.with_kind(loop, PARALLEL)
