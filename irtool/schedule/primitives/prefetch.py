"""`prefetch`: an operand's next vectors brought into the cache while those at hand are used."""

from __future__ import annotations

from dataclasses import replace

from ...diagnostics import UsageError
from ...tir.expr import Load, Var
from ..affine import depends
from ..block import Ahead, Block
from ..forms import Form, Loop, Reduction
from ..prefetching import vector_loops
from .base import primitive
from .operands import find_operand


@primitive
def prefetch(
    b: Block[Form], operand: Load | str, ahead: Var | str, over: Var | str | None = None, *, steps: int = 1
) -> Block[Form]:
    """Every step of a reduction asks for what it reads of an operand in the next step of a loop, or `steps` later.

    ::

        for p: for i: for k: acc[i] += x[i, k] * w[p, k]    ⇒    prefetch(w, ahead=p)
        for p: for i: for k: prefetch(w[min(p + 1, …), k]); acc[i] += x[i, k] * w[p, k]

    As TVM's `prefetch`. Of weights that come from memory, a processor by itself fetches the next line only when the one before is
    read, and begins anew with each page. `over` is a loop whose steps read the same part of the operand: each of them asks for
    some of its lines, so that memory is busy all the time. `ahead` may also be a loop of the reduction: behind its last step, lines
    are those that follow in memory, and beyond the operand's end nothing comes. No result changes. Raises UsageError where there is no tile of
    accumulators, or the operand does not move with the loop `ahead`, or moves with `over`.
    """
    if not isinstance(b.form, Reduction) or not b.tile or b.window is not None:
        raise UsageError("there is no tile of accumulators", help="cache_write makes one")
    found = operand if isinstance(operand, Load) else find_operand(b.form, operand)
    name = found.source.name
    view = b.seen()

    def outer(loop: Var | str) -> Loop:
        v, extent = b.find(loop)
        if not any(v is x for x, _ in b.outside):
            raise UsageError(f"{v.name} is not a loop around the accumulators")
        return v, extent

    if steps < 1:
        raise UsageError(f"{steps} steps later is not ahead")
    inner = [x for x in b.inner if (x[0].name == ahead if isinstance(ahead, str) else x[0] is ahead)]
    v = inner[0] if inner else outer(ahead)
    shared = outer(over) if over is not None else None
    if not any(depends(view(i), v[0]) for i in found.indices):
        raise UsageError(f"{name} does not move with {v[0].name}")
    if shared is not None and any(depends(view(i), shared[0]) for i in found.indices):
        raise UsageError(f"{name} moves with {shared[0].name}")
    if not vector_loops(b, found):
        raise UsageError(f"{name} does not move within the tile")
    return replace(b, prefetches=(*b.prefetches, Ahead(found, v, shared, steps)))
