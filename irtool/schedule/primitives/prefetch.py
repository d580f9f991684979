"""`prefetch`: the next vectors of an operand loaded into the cache while a reduction uses the current ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...diagnostics import UsageError
from ...tir.expr import Expr, Load, Var, const, substitute
from ..core.affine import depends, simplifier
from ..core.block import Ahead, Block, Level
from ..core.forms import Form, Loop, Reduction
from ..core.prefetching import vector_loops
from .base import primitive
from .operands import find_operand


@primitive
def prefetch(
    b: Block[Form], operand: Load | str, ahead: Var | str, over: Var | str | None = None, *, steps: int = 1
) -> Block[Form]:
    """Every step of a reduction prefetches the lines of an operand that it reads in the next step of a loop, or `steps` steps
    later.

    ::

        for p: for i: for k: acc[i] += x[i, k] * w[p, k]    ⇒    prefetch(w, ahead=p)
        for p: for i: for k: prefetch(w[min(p + 1, …), k]); acc[i] += x[i, k] * w[p, k]

    Like TVM's `prefetch`. By itself, a processor fetches the next line of weights in memory only when it reads the one before,
    and starts again at each page. `over` is a loop whose steps read the same part of the operand: each of them prefetches some of
    its lines, so that memory is busy all the time. `ahead` may also be a loop of the reduction: behind its last step, prefetches
    continue with the lines that follow in memory, and beyond the operand's end they load nothing. The same holds for a loop
    around copies or partial results (`compute_at`), unless the operand ends with it: the prefetched lines are the first ones that
    its next step reads, or those of the first block if the sum is in blocks. No result changes. Raises UsageError if the block
    has no tile of accumulators, if the operand's indices do not depend on the loop `ahead`, or if they depend on `over`.
    """
    if not isinstance(b.form, Reduction) or not b.tile or b.window is not None:
        raise UsageError("there is no tile of accumulators", help="cache_write makes one")
    load = operand if isinstance(operand, Load) else find_operand(b.form, operand)
    name = load.source.name
    view = b.seen()
    first, (v, extent) = _ahead(b, load, ahead)
    shared = _outside(b, over) if over is not None else None
    if steps < 1:
        raise UsageError(f"steps={steps} is not ahead")
    if not any(depends(view(i), v) for i in load.indices):
        raise UsageError(f"{name} does not move with {v.name}")
    if shared is not None and any(depends(view(i), shared[0]) for i in load.indices):
        raise UsageError(f"{name} moves with {shared[0].name}")
    if not vector_loops(b, load):
        raise UsageError(f"{name} does not move within the tile")
    return replace(b, prefetches=(*b.prefetches, Ahead(first, (v, extent), shared, steps)))


def _outside(b: Block[Any], loop: Var | str) -> Loop:
    """The loop around the accumulators. Raises UsageError for other loops."""
    v, extent = b.find(loop)
    if not any(v is x for x, _ in b.outside):
        raise UsageError(f"{v.name} is not a loop around the accumulators")
    return v, extent


def _ahead(b: Block[Any], operand: Load, loop: Var | str) -> tuple[Load, Loop]:
    """The first read of the operand in a step of a loop, and the loop; its extent is 0 if the operand continues behind its last
    step."""
    for n, level in enumerate(b.around):
        for v, extent, _ in level.loops:
            if v.name == loop if isinstance(loop, str) else v is loop:
                first = _rewound(b, operand, b.around[n:])
                return first, (v, 0 if _goes_on(b, first, v, extent) else extent)
    inner = [x for x in b.inner if (x[0].name == loop if isinstance(loop, str) else x[0] is loop)]
    return operand, (inner[0][0], 0) if inner else _outside(b, loop)


def _rewound(b: Block[Any], operand: Load, levels: Sequence[Level]) -> Load:
    """The operand at the first steps of all loops of the reduction that are in blocks."""
    known = simplifier(b.form.loops, b.form.inner)
    for k, steps in (x.rewind for x in levels if x.rewind is not None):
        if not any(k is x for x, _ in b.form.inner):
            raise UsageError(f"{k.name} has changed", help="prefetch before it is split, or in no part")
        first: dict[Expr, Expr] = {k: k - steps}
        operand = Load(operand.source, tuple(known(substitute(i, first)) for i in operand.indices))
    return operand


def _goes_on(b: Block[Any], operand: Load, v: Var, extent: int) -> bool:
    """True if the operand has elements for one more step of a loop."""
    view = b.seen()
    behind: dict[Expr, Expr] = {v: const(extent)}
    ranges = [view.simplify.range(view.simplify(substitute(view(i), behind))) for i in operand.indices]
    return all(high < d for (_, high), d in zip(ranges, operand.source.shape))
