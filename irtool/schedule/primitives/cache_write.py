"""`cache_write`: a tile of results in registers."""

from __future__ import annotations

from dataclasses import replace

from ...diagnostics import UsageError
from ...tir.expr import Var
from ..core.block import Block
from ..core.forms import Form, Reduction
from ..core.nest import check_vectors
from .base import primitive


@primitive
def cache_write(b: Block[Form], loop: Var | str) -> Block[Form]:
    """Moves the loops from `loop` inwards inside of the accumulator, which becomes an array in registers.

    ::

        for i: for j in 4: for l in 8:                 for i:
          acc = 0                                        for j in 4: for l in 8: acc[j, l] = 0
          for k: acc += x[i*4 + j, k] * w[k, l]    ⇒     for k: for j in 4: for l in 8: acc[j, l] += x[i*4 + j, k] * w[k, l]
          out[i*4 + j, l] = acc                          for j in 4: for l in 8: out[i*4 + j, l] = acc[j, l]

    Predicates of reads become conditions on steps of the reduction, if a step without them changes nothing. Raises UsageError for
    a block without a reduction.
    """
    b.check_placed()
    if not isinstance(b.form, Reduction):
        raise UsageError("there is no accumulator: nothing is reduced")
    depth = b.depth(loop)
    if b.tile or b.factor is not None:
        raise UsageError("accumulators are fixed already")
    block = replace(b.with_guards(), tile=b.loops[depth:], view=None)
    check_vectors(block)
    return block
