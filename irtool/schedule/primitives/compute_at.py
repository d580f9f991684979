"""`compute_at`: the place of a copy, or of an intermediate result, among the loops."""

from __future__ import annotations

from dataclasses import replace

from ...diagnostics import UsageError
from ...tir.expr import Var
from ...tir.stmt import PARALLEL
from ..core.block import Block
from ..core.forms import Form
from .base import primitive


@primitive
def compute_at(b: Block[Form], copy: str, loop: Var | str | None = None) -> Block[Form]:
    """Computes the copy of `pack`, or the partial results of `block_reduction`, in every step of a loop, for the loops inside of
    it; without a loop, once.

    ::

        packed = …, all of it                          for band in 4:
        for band in 4: for y in 8: … packed[band*8 + y]    ⇒      packed = …, rows of one band
                                                                  for y in 8: … packed[y]

    Like Halide's and TVM's `compute_at`. The loops around are fixed then: later primitives change the loops inside, and those of
    the copy, which is a block of its own. Raises UsageError if no copy of that name is pending, or if threads would share its
    memory.
    """
    waiting = b.pending
    if waiting is None or waiting.name != copy:
        known = waiting.name if waiting is not None else "none"
        raise UsageError(f"no copy {copy} is pending", help=f"pending copies: {known}")
    b.check_loops_only("compute_at")
    depth = b.depth(loop) + 1 if loop is not None else 0
    block: Block[Form] = waiting.place(replace(b, pending=None), depth)
    kinds = {kind for level in block.around for _, _, kind in level.loops}
    if not block.around[-1].is_local and PARALLEL in kinds:
        raise UsageError(
            f"threads would share {copy}, which is in the workspace", help="put it on the stack: scope=local"
        )
    return block
