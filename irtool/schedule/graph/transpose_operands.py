"""Operands of products copied in another order, if no vector of results reads all of them side by side.

    for o, c: for n, p: acc += grad[n, o, p] * data[n, c, p]

    ⇒   for n, p, o: grad_t[n, p, o] = grad[n, o, p]
        for o, c: for n, p: acc += grad_t[n, p, o] * data[n, c, p]      (vectors along o)

    for x: for k: acc += data[2 * x + k] * w[k]

    ⇒   for p, q: data_t[p, q] = data[2 * q + p]
        for x: for k: acc += data_t[k % 2, x + k // 2] * w[k]           (vectors along x)

Gradients read the operands of their operator in another order, and weights that only the run has cannot be packed when the program is
built. The copy pays where each of its elements is read often; strategies then see a product like any other. A copy of what the stage
before it computes for it alone, as padding, takes the place of that stage. TVM's `cache_read` with a layout, at the root of the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...tir.arithmetic import floordiv, floormod
from ...tir.expr import Expr, Load, Select, Var, const, less, rewrite
from ...tir.forms import AnyForm, Map, Reduction, buffers_read, stores_of
from ...tir.kernel import Kernel
from ...tir.stmt import Buffer, Scope, Store
from ...tir.vector_target import VectorTarget
from ..core.affine import depends, loads, operands, simplifier
from ..cost.machine import FEWEST_LANES, GAIN
from ..strategies.base import Stage, choose_strategy
from ..strategies.row_reduction.strategy import shares_operands
from ..windows.padded_copy import with_values, writes_whole


@dataclass(frozen=True)
class _Order:
    """The order of an operand in its copy: an axis innermost, of which every `step`-th element follows the one before, in as many phases."""

    axis: int
    step: int


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
    stages, opened = _without_padding(stages, copies, kernel.temporaries)
    temporaries = [b for b in (*kernel.temporaries, *copies) if b not in opened]
    return kernel.with_stages(stages, temporaries=temporaries)


def _without_padding(
    stages: Sequence[AnyForm], copies: Sequence[Buffer], temporaries: Sequence[Buffer]
) -> tuple[list[AnyForm], list[Buffer]]:
    """The stages, with the values of the stage before a copy computed in the copy, if nothing else reads them and the same axis stays
    innermost (transposes of copies alone are made in squares); and the buffers that are no longer needed."""
    rest = list(stages)
    dropped: list[Buffer] = []
    for n in range(len(rest) - 1, 0, -1):
        source, copy = rest[n - 1], rest[n]
        if not (isinstance(copy, Map) and copy.stores[0].buffer in copies and isinstance(source, Map)):
            continue
        store = source.stores[0]
        others = [*rest[: n - 1], *rest[n + 1 :]]
        elsewhere = {*buffers_read(*others), *(s.buffer for form in others for s in stores_of(form))}
        if store.buffer in temporaries and store.buffer not in elsewhere and writes_whole(source) and _keeps_axis(copy):
            rest[n - 1 : n + 1] = [_opened(copy, store)]
            dropped.append(store.buffer)
    return rest, dropped


def _keeps_axis(copy: Map) -> bool:
    """True if a copy reads its source along the innermost axis."""
    along = copy.loops[-1][0]
    return all(depends(e.indices[-1], along) for e in loads(copy.stores[0].value))


def _opened(copy: Map, source: Store) -> Map:
    """The copy of what a store computes, which is computed in the copy."""
    (store,) = copy.stores
    value = simplifier(copy.loops)(with_values(store.value, source))
    return Map(copy.loops, (Store(store.buffer, store.indices, value),))


def _transposed(r: Reduction, target: VectorTarget) -> tuple[Map, Reduction] | None:
    """The cheapest copy and its reader; None if no copy pays."""
    stage = Stage(r, target)
    if stage.lanes < FEWEST_LANES:
        return None
    has_vectors = stage.tile is not None or shares_operands(stage)
    best: tuple[float, float, Map, Reduction] | None = None
    for v, extent in r.loops:
        for e in operands(r) if extent >= FEWEST_LANES else ():
            order = _order(r, e, v)
            if order is None or (has_vectors and order.step == 1):
                continue
            if r.work < target.copied_reads * e.source.size:
                continue
            copy, reader = _with_copy(r, e, order)
            tile = Stage(reader, target).tile
            copied = target.copy_cost * e.source.size / target.lanes(4)
            if tile is not None and (best is None or tile.cost * r.work + copied < best[0]):
                best = (tile.cost * r.work + copied, copied, copy, reader)
    if best is None:
        return None
    _, copied, copy, reader = best
    before, after = (choose_strategy(s)[1].cost * r.work for s in (stage, Stage(reader, target)))
    return (copy, reader) if after + copied < GAIN * before else None


def _order(r: Reduction, e: Load, v: Var) -> _Order | None:
    """The order in which an operand's elements for neighbouring steps of a loop are neighbours; None if they are already, or no order
    of one axis is."""
    simplify = simplifier(r.loops, r.inner)
    steps = [simplify.linear(i)[0].get(v, 0) for i in e.indices]
    moving = [n for n, k in enumerate(steps) if k]
    if len(moving) != 1:
        return None
    (axis,) = moving
    step = int(steps[axis])
    apart = axis + 1 < len(steps) or step > 1
    return _Order(axis, step) if apart and 1 <= step <= FEWEST_LANES else None


def _with_copy(r: Reduction, e: Load, order: _Order) -> tuple[Map, Reduction]:
    """The copy of an operand in that order, and the reduction that reads it."""
    source, axis, step = e.source, order.axis, order.step
    others = [n for n in range(source.ndim) if n != axis]
    along = Var(f"t{axis}"), -(-source.shape[axis] // step)
    phase = Var("phase"), step
    loops = [*((Var(f"t{n}"), source.shape[n]) for n in others), *([phase] if step > 1 else []), along]
    shape = [extent for _, extent in loops]
    buffer = source.replace(name=f"{source.name or 'operand'}_t", shape=shape, scope=Scope.GLOBAL, numbers="")
    index: dict[int, Expr] = {n: x for n, (x, _) in zip(others, loops)}
    index[axis] = along[0] * step + phase[0] if step > 1 else along[0]
    value: Expr = Load(source, tuple(index[n] for n in range(source.ndim)))
    if source.shape[axis] % step:
        value = Select(less(index[axis], source.shape[axis]), value, const(0, source.dtype), lazy=True)
    copy = Map(tuple(loops), (Store(buffer, [x for x, _ in loops], value),))
    simplify = simplifier(r.loops, r.inner)

    def change(x: Expr) -> Expr:
        if not isinstance(x, Load) or x.source is not source:
            return x
        place = x.indices[axis]
        indices = [x.indices[n] for n in others]
        if step > 1:
            indices.append(simplify(floormod(place, step)))
        return Load(buffer, (*indices, simplify(floordiv(place, step)) if step > 1 else place))

    return copy, replace(r, update=rewrite(r.update, change))
