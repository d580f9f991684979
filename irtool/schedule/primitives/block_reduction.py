"""`block_reduction`: a reduction in blocks of steps; each block is computed for all results inside of a loop before the next
block."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from ...diagnostics import UsageError
from ...tir.expr import Binary, Expr, Load, Var, const, substitute
from ...tir.memory import KERNEL_SCRATCH
from ...tir.nodes import Axis
from ...tir.stmt import SERIAL, Buffer, Scope, Store
from ..core.block import Block, Level, Pending
from ..core.block_sums import LONGEST
from ..core.forms import Form, Map, Reduction, substituted
from .base import primitive


@primitive
def block_reduction(b: Block[Form], loop: Var | str, steps: int, along: Var | str, name: str = "part") -> Block[Form]:
    """A loop of the reduction in blocks of `steps` steps, outside of the loops over results; an array holds partial results
    between blocks.

    ::

        for i in 6:                          for i in 6: part[i] = 0
          acc = 0                            for block in 2: for i in 6:
          for k in 12: acc += x[i, k]    ⇒     acc = part[i]; for k in 4: acc += x[i, block*4 + k]; part[i] = acc
          out[i] = f(acc)                    for i in 6:
                                               acc = part[i]; for k in 4: acc += x[i, 8 + k]; out[i] = f(acc)

    All results use the operands of a block while these are in the L1 cache: the loop over `kc` of Goto and van de Geijn (Anatomy
    of High-Performance Matrix Multiplication, 2008) and of BLIS. In TVM it is `cache_write`, `split`, `reorder` and
    `decompose_reduction`. The order of summation stays the same, and so does every bit of the results; but blocks of a long sum
    of floats (see `schedule.core.block_sums`) are sums of their own, which are added up. `compute_at` places the array; it is
    contiguous `along` a loop. `name_init` and `name_update` then are blocks with loops of their own, which compute every result
    once.

    Raises UsageError unless the loop is the outermost one of the reduction, and `steps` divides it into several blocks.
    """
    b.check_placed()
    b.check_loops_only("block_reduction")
    if not isinstance(b.form, Reduction):
        raise UsageError("nothing is reduced")
    k, extent = b.find(loop)
    v = b.find(along)[0]
    b.depth(v)
    if k is not next((x for x, n in b.inner if n != 1), None):
        raise UsageError(f"{k.name} is not the outermost loop of the reduction", help="reorder them first")
    if steps < 1 or extent % steps or steps == extent:
        raise UsageError(f"{k.name} has {extent} steps, which are not several blocks of {steps}")

    def place(outer: Block[Reduction], depth: int) -> Block[Reduction]:
        return _placed(outer, depth, k, steps, v, name)

    return replace(b, pending=Pending(name, place))


def _placed(b: Block[Reduction], depth: int, k: Var, steps: int, along: Var, name: str) -> Block[Reduction]:
    outside, inside = b.loops[:depth], b.loops[depth:]
    if not any(along is x for x, _ in inside) or not any(k is x for x, _ in b.inner):
        raise UsageError(f"{k.name} has changed, or {along.name} is not inside of the partial results")
    # The outer loops are no loops of the new form, which still needs their ranges.
    around = [Axis(x.name, n) for x, n in outside]
    known: dict[Expr, Expr] = {x: axis for (x, _), axis in zip(outside, around)}
    blocks = dict(b.inner)[k] // steps
    block, step = Axis("block", blocks - 1), Var(k.name, k.dtype)
    inner = tuple((step, steps) if x is k else (x, n) for x, n in b.inner)
    wide = [x for x in inside if x[1] > 1 and x[0] is not along] + [x for x in inside if x[0] is along]
    buffer = Buffer(name, [n for _, n in wide], b.form.acc.dtype, Scope.LOCAL)
    if buffer.nbytes > KERNEL_SCRATCH:
        raise UsageError(f"{name} would take {buffer.nbytes} bytes of the stack", help="compute_at a loop")
    place = tuple(x for x, _ in wide)

    def values(number: Expr) -> dict[Expr, Expr]:
        return _values(b, {**known, k: number * steps + step})

    first, last = values(block), values(const(blocks - 1))
    before = Load(buffer, place)
    sums = substituted(b.form, first, inside, inner)
    total: Expr = b.form.acc.element()
    if _is_long(b.form):
        total = before + total  # each block is a separate sum, so that errors grow with its length
    else:
        sums = replace(sums, init=before)
    update: Block[Reduction] = Block.of(replace(sums, stores=(Store(buffer, place, total),)))
    update = replace(update, around=(Level(((block, blocks - 1, SERIAL),)),))
    rest = substituted(b.form, last, inside, inner)
    init: Block[Map] = Block.of(Map(tuple(wide), (Store(buffer, place, rest.init),)))
    level = Level(
        tuple((axis, n, b.kind(x)) for axis, (x, n) in zip(around, outside)),
        buffer,
        ((f"{name}_init", (init,)), (f"{name}_update", (update,))),
        rewind=(step, (blocks - 1) * steps),
        together=True,
    )
    return b.placed(replace(rest, init=before), level, inside)


def _is_long(r: Reduction) -> bool:
    """True for sums of floats whose blocks are separate sums."""
    is_sum = isinstance(r.update, Binary) and r.update.op == "+"
    return is_sum and r.acc.dtype.startswith("float") and math.prod(n for _, n in r.inner) > LONGEST


def _values(b: Block[Reduction], of: Mapping[Expr, Expr]) -> dict[Expr, Expr]:
    """The value of each axis in terms of other loops."""
    return {**of, **{axis: substitute(e, of) for axis, e in b.bindings.items()}}
