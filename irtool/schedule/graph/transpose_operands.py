"""Operands of products copied in another order, and results of maps computed in another order, if no vector reads and writes
contiguously, or if vectors along another axis are faster: 14 columns fill no two vectors, 256 channels fill 16.

    for o, c: for n, p: acc += grad[n, o, p] * data[n, c, p]

    ⇒   for n, p, o: grad_t[n, p, o] = grad[n, o, p]
        for o, c: for n, p: acc += grad_t[n, p, o] * data[n, c, p]      (vectors along o)

    for x: for k: acc += data[2 * x + k] * w[k]

    ⇒   for p, q: data_t[p, q] = data[2 * q + p]
        for x: for k: acc += data_t[k % 2, x + k // 2] * w[k]           (vectors along x)

    for y, c, x: out[c, y, x] = f(in[y, x / 2, c])

    ⇒   for y, x, c: out_t[y, x, c] = f(in[y, x / 2, c])                (vectors along c)
        for y, c, x: out[c, y, x] = out_t[y, x, c]                      (in squares)

Gradients read the operands of their operator in another order, and the build cannot pack weights that only the run has. The copy
pays if each of its elements is read often; strategies then see a product like any other. If the stage before computes the operand
for this copy alone, such as padding, the copy replaces that stage. An image in blocks of channels that is enlarged at irregular
positions, and stored in planes, is computed in the order of its blocks; a row of it stays in the L1 cache (see `fuse_row_loops`).
This is TVM's `cache_read` with a layout, at the root of the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from ...symbolic_int import as_integer, bound
from ...tir.arithmetic import floordiv, floormod
from ...tir.expr import Expr, Load, Select, Var, const, less, rewrite
from ...tir.forms import AnyForm, Map, Reduction, buffers_read, stores_of
from ...tir.kernel import Kernel
from ...tir.stmt import Buffer, Scope, Store
from ...tir.vector_target import VectorTarget
from ..core.affine import depends, loads, operands, simplifier, stride
from ..core.block import Block
from ..core.forms import substituted
from ..cost.machine import FEWEST_LANES, GAIN, MEMORY_WORTH
from ..primitives import fuse, reorder
from ..strategies.base import Stage, estimated_cost
from ..strategies.row_reduction.strategy import shares_operands
from ..windows.padded_copy import compute_inline, writes_whole


@dataclass(frozen=True)
class _Order:
    """The order of an operand in its copy: `axis` is innermost, in `step` phases of every `step`-th element."""

    axis: int
    step: int


def transpose_operands(kernel: Kernel, target: VectorTarget) -> Kernel:
    """The kernel with a copied operand for each reduction that is faster with one, and a copied result for each such map; itself
    without any."""
    stages: list[AnyForm] = []
    operand_copies: list[Buffer] = []
    result_copies: list[Buffer] = []
    for form in kernel.stages:
        if isinstance(form, Reduction) and (sum_pair := _with_transposed_operand(form, target)) is not None:
            stages += sum_pair
            operand_copies.append(sum_pair[0].stores[0].buffer)
        elif isinstance(form, Map) and (map_pair := _with_transposed_result(form, target)) is not None:
            stages += map_pair
            result_copies.append(map_pair[0].stores[0].buffer)
        else:
            stages.append(form)
    if not operand_copies and not result_copies:
        return kernel
    stages, opened = _without_padding(stages, operand_copies, kernel.temporaries)
    temporaries = [b for b in (*kernel.temporaries, *operand_copies, *result_copies) if b not in opened]
    return kernel.with_stages(stages, temporaries=temporaries)


def _without_padding(
    stages: Sequence[AnyForm], copies: Sequence[Buffer], temporaries: Sequence[Buffer]
) -> tuple[list[AnyForm], list[Buffer]]:
    """The stages, with the stage before a copy merged into the copy; and the buffers that are no longer needed.

    Stages are merged if nothing else reads their result and the same axis stays innermost (transposes of copies alone run in
    squares).
    """
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
            rest[n - 1 : n + 1] = [compute_inline(copy, store)]
            dropped.append(store.buffer)
    return rest, dropped


def _keeps_axis(copy: Map) -> bool:
    """True if a copy reads its source along the innermost axis."""
    along = copy.loops[-1][0]
    return all(depends(e.indices[-1], along) for e in loads(copy.stores[0].value))


def _with_transposed_operand(r: Reduction, target: VectorTarget) -> tuple[Map, Reduction] | None:
    """The cheapest copy and its reader; None if no copy pays."""
    stage = Stage(r, target)
    if stage.lanes < FEWEST_LANES:
        return None
    least = 0.0 if target.has_matrices else r.work / (stage.lanes * target.multiply_adds)
    present = stage.tile.cost * r.work if stage.tile is not None else inf
    if GAIN * present <= least:
        return None  # no copy makes up for itself
    best: tuple[float, float, float, Map, Reduction] | None = None
    for v, extent in r.loops:
        for e in operands(r) if bound(extent) >= FEWEST_LANES else ():
            order = _order(r, e, v)
            if order is None or r.work < target.copied_reads * bound(e.source.size):
                continue
            copied = target.copy_cost * bound(e.source.size) / target.lanes(4)
            # A copy for a tile that has contiguous vectors without it only gains time.
            share = GAIN if stage.tile is None or order.step > 1 else 1 / MEMORY_WORTH
            if share * present <= least + copied or (order.step == 1 and _has_other_vectors(stage)):
                continue
            copy, reader = _with_copy(r, e, order)
            tile = Stage(reader, target).tile
            if tile is not None and (best is None or tile.cost * r.work + copied < best[0]):
                best = (tile.cost * r.work + copied, copied, share, copy, reader)
    if best is None:
        return None
    _, copied, share, copy, reader = best
    before, after = (estimated_cost(s) * r.work for s in (stage, Stage(reader, target)))
    return (copy, reader) if after + copied < share * before else None


def _has_other_vectors(stage: Stage) -> bool:
    """True if a stage has vectors in another form than a tile of whole ones: along its sums, or assembled from elements. Estimates of
    these are too high to compare them with copies."""
    if stage.tile is None:
        return shares_operands(stage)
    return estimated_cost(stage) < stage.tile.cost


def _order(r: Reduction, e: Load, v: Var) -> _Order | None:
    """The order in which the elements for neighbouring steps of a loop are contiguous; None if they are already, or no single
    axis moves."""
    simplify = simplifier(r.loops, r.inner)
    steps = [simplify.linear(i)[0].get(v, 0) for i in e.indices]
    moving = [n for n, k in enumerate(steps) if k]
    if len(moving) != 1:
        return None
    (axis,) = moving
    step = as_integer(steps[axis])
    apart = axis + 1 < len(steps) or step > 1
    return _Order(axis, step) if apart and 1 <= step <= FEWEST_LANES else None


def _with_copy(r: Reduction, e: Load, order: _Order) -> tuple[Map, Reduction]:
    """The copy of an operand in that order, and the reduction that reads it."""
    source, axis, step = e.source, order.axis, order.step
    read = _extents_read(r, e)
    others = [n for n in range(source.ndim) if n != axis]
    along = Var(f"t{axis}"), -(-read[axis] // step)
    phase = Var("phase"), step
    loops = [*((Var(f"t{n}"), read[n]) for n in others), *([phase] if step > 1 else []), along]
    shape = [extent for _, extent in loops]
    buffer = source.replace(name=f"{source.name or 'operand'}_t", shape=shape, scope=Scope.GLOBAL, numbers="")
    index: dict[int, Expr] = {n: x for n, (x, _) in zip(others, loops)}
    index[axis] = along[0] * step + phase[0] if step > 1 else along[0]
    value: Expr = Load(source, tuple(index[n] for n in range(source.ndim)))
    if read[axis] % step:
        value = Select(less(index[axis], read[axis]), value, const(0, source.dtype), lazy=True)
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


def _extents_read(r: Reduction, e: Load) -> tuple[int, ...]:
    """The extents of an operand as far as the sum reads it: those of loops that alone are indices, such as the rows of a cache that are in use;
    all of it otherwise."""
    extents = {} if r.guards or sum(x.source is e.source for x in loads(r.update)) > 1 else dict((*r.loops, *r.inner))
    return tuple(extents[i] if isinstance(i, Var) and i in extents else n for i, n in zip(e.indices, e.source.shape))


def _with_transposed_result(m: Map, target: VectorTarget) -> tuple[Map, Map] | None:
    """The cheapest pair of maps: the first computes the result in vectors along another axis, the second transposes it row by
    row. None if no pair pays."""
    stage = Stage(m, target)
    flat = stage.map
    if flat is None or len(flat.stores) != 1 or len(flat.loops) < 2:
        return None
    simplify = simplifier(flat.loops)
    written = flat.stores[0].buffer.offset(flat.stores[0].indices)
    positions = [e.source.offset(e.indices) for e in loads(flat.stores[0].value)]
    pairs = []
    for v, n in flat.loops:
        if (
            bound(n) < FEWEST_LANES
            or stride(simplify, written, v) != 1
            or None not in (stride(simplify, p, v) for p in positions)
        ):
            continue
        for w, k in flat.loops:
            strides = {stride(simplify, p, w) for p in positions}
            if w is not v and bound(k) >= FEWEST_LANES and {1} <= strides <= {0, 1}:
                pairs.append(_with_copy_of_result(flat, v, w))

    if not pairs:
        return None
    costs = [sum(estimated_cost(Stage(x, target)) for x in pair) for pair in pairs]
    least = min(costs)
    if least + target.copy_cost / target.lanes(4) >= GAIN * estimated_cost(stage):
        return None
    return pairs[costs.index(least)]


def _with_copy_of_result(m: Map, v: Var, w: Var) -> tuple[Map, Map]:
    """The map with results along `w`, and their transpose to results along `v`: both in the same loop over rows."""
    block = reorder(Block.of(m), [*(x for x, _ in m.loops if x is not v and x is not w), v, w])
    while len(block.loops) > 3:
        block = fuse(block, block.loops[0][0], block.loops[1][0])
    m = block.result()
    (store,) = m.stores
    buffer = Buffer(f"{store.buffer.name or 'result'}_t", [n for _, n in m.loops], store.buffer.dtype, Scope.GLOBAL)
    first = Map(m.loops, (Store(buffer, [x for x, _ in m.loops], store.value),))
    copy = Map(m.loops, (Store(store.buffer, store.indices, Load(buffer, tuple(x for x, _ in m.loops))),))
    own = [(Var(x.name, x.dtype), n) for x, n in m.loops]
    copy = substituted(copy, {x: y for (x, _), (y, _) in zip(m.loops, own)}, [*own[:-2], own[-1], own[-2]])
    return first, copy
