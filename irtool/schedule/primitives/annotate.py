"""`vectorize`, `unroll`, `parallel`: how a loop runs."""

from __future__ import annotations

from ...tir.expr import Var
from ...tir.stmt import PARALLEL, UNROLLED, VECTORIZED
from ..block import Block
from ..forms import Form
from .base import primitive


@primitive
def vectorize(b: Block[Form], loop: Var | str) -> Block[Form]:
    """All steps of a loop at once, in the elements of vectors.

    ::

        for i in 8: out[i] = x[i] + y[i]    ⇒    vectorize(i)    out[0:8] = x[0:8] + y[0:8]
    """
    return b.with_kind(loop, VECTORIZED)


@primitive
def unroll(b: Block[Form], loop: Var | str) -> Block[Form]:
    """The steps of a loop one after the other, without a loop.

    ::

        for i in 2: acc[i] = acc[i] + x[i]    ⇒    unroll(i)    acc[0] = acc[0] + x[0]; acc[1] = acc[1] + x[1]
    """
    return b.with_kind(loop, UNROLLED)


@primitive
def parallel(b: Block[Form], loop: Var | str) -> Block[Form]:
    """The steps of a loop shared among threads, which must be independent: loops over results are."""
    b.depth(loop)
    return b.with_kind(loop, PARALLEL)
