"""Operands of products copied with another axis innermost, if no vector of results reads all of them side by side.

    for o, c: for n, p: acc += grad[n, o, p] * data[n, c, p]

    ⇒   for n, p, o: grad_t[n, p, o] = grad[n, o, p]
        for o, c: for n, p: acc += grad_t[n, p, o] * data[n, c, p]      (vectors along o)

Gradients read the operands of their operator in another order, and weights that only the run has cannot be packed when the program is
built. The copy pays where each of its elements is read often; strategies then see a product like any other. TVM's `cache_read` with a
layout, at the root of the kernel.
"""

from __future__ import annotations

from dataclasses import replace

from ...tir.expr import Expr, Load, Var, rewrite
from ...tir.forms import AnyForm, Map, Reduction
from ...tir.kernel import Kernel
from ...tir.stmt import Buffer, Scope, Store
from ...tir.vector_target import VectorTarget
from ..core.affine import operands, simplifier
from ..cost.machine import FEWEST_LANES, GAIN
from ..strategies.base import Stage, choose_strategy
from ..strategies.row_reduction.strategy import shares_operands


def transpose_operands(kernel: Kernel, target: VectorTarget) -> Kernel:
    """The kernel with a copy of an operand for each reduction that is faster with one; itself if there is none."""
    stages: list[AnyForm] = []
    copies: list[Buffer] = []
    for form in kernel.stages:
        transposed = _transposed(form, target) if isinstance(form, Reduction) else None
        if transposed is None:
            stages.append(form)
        else:
            copy, reader = transposed
            copies.append(copy.stores[0].buffer)
            stages += [copy, reader]
    if not copies:
        return kernel
    return kernel.with_stages(stages, temporaries=[*kernel.temporaries, *copies])


def _transposed(r: Reduction, target: VectorTarget) -> tuple[Map, Reduction] | None:
    """The copy and what reads it, of those of least cost; None if no copy pays."""
    stage = Stage(r, target)
    if stage.tile is not None or stage.lanes < FEWEST_LANES or shares_operands(stage):
        return None
    best: tuple[float, float, Map, Reduction] | None = None
    for v, extent in r.loops:
        for e in operands(r) if extent >= FEWEST_LANES else ():
            axis = _moving_axis(r, e, v)
            if axis is None or r.work < target.copied_reads * e.source.size:
                continue
            copy, reader = _with_copy(r, e, axis)
            tile = Stage(reader, target).tile
            copied = target.copy_cost * e.source.size / target.lanes(4)
            if tile is not None and (best is None or tile.cost * r.work + copied < best[0]):
                best = (tile.cost * r.work + copied, copied, copy, reader)
    if best is None:
        return None
    _, copied, copy, reader = best
    before, after = (choose_strategy(s)[1].cost * r.work for s in (stage, Stage(reader, target)))
    return (copy, reader) if after + copied < GAIN * before else None


def _moving_axis(r: Reduction, e: Load, v: Var) -> int | None:
    """The axis of an operand along which it moves element by element with a loop; None if there is none, or it is the innermost."""
    simplify = simplifier(r.loops, r.inner)
    steps = [simplify.linear(i)[0].get(v, 0) for i in e.indices]
    moving = [n for n, k in enumerate(steps) if k]
    return moving[0] if len(moving) == 1 and steps[moving[0]] == 1 and moving[0] + 1 < len(steps) else None


def _with_copy(r: Reduction, e: Load, axis: int) -> tuple[Map, Reduction]:
    """The copy of an operand with an axis innermost, and the reduction that reads it."""
    source = e.source
    order = [n for n in range(source.ndim) if n != axis] + [axis]
    shape = [source.shape[n] for n in order]
    buffer = source.replace(name=f"{source.name or 'operand'}_t", shape=shape, scope=Scope.GLOBAL, numbers="")
    loops = tuple((Var(f"t{n}"), source.shape[n]) for n in order)
    index = {n: x for n, (x, _) in zip(order, loops)}
    value = Load(source, tuple(index[n] for n in range(source.ndim)))
    copy = Map(loops, (Store(buffer, [x for x, _ in loops], value),))

    def change(x: Expr) -> Expr:
        return Load(buffer, tuple(x.indices[n] for n in order)) if isinstance(x, Load) and x.source is source else x

    return copy, replace(r, update=rewrite(r.update, change))
