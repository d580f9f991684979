"""Fusion of a kernel into the one kernel whose result it reads, past reshapes and transposes.

    s = dense(x, w)                        (a kernel)        for m, c: acc = …;
    y = gelu(transpose(reshape(s)) + b)    (a kernel)   ⇒       y[c, m // 8, m % 8] = gelu(acc + b[c])

`FuseOps` fuses operators by their kinds; here kernels are fused by their loop nests: the second kernel reads each element of the
first one's result once, in any order. If the fused nest still has vectors, the result needs no memory.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import cast

from ...tir import dtypes
from ...tir.expr import Expr, Load, Var, post_order, rewrite, substitute
from ...tir.forms import AnyForm, Map, Reduction, buffers_read, stores_of
from ...tir.kernel import Kernel
from ...tir.program import CONSTANT, TEMP, Program, RunKernel, Slot
from ...tir.stmt import Buffer, Store
from ...tir.tables import looked_up
from ...tir.vector_target import VectorTarget
from ..core.affine import depends, loads, moves, operands, simplifier, stride
from .common_axes import CommonAxes, find_common_axes
from .merge_kernels import MergedStages, Merger, merge_with_readers, only_reader
from .step_lists import Mentions


def fuse_epilogues(program: Program, target: VectorTarget) -> None:
    """Fuses all pairs of kernels that allow it, in every function of the program."""

    def with_epilogue(merged: MergedStages, facts: Hashable) -> Kernel | None:
        constants, blocks = cast(tuple[frozenset[int], bool], facts)
        ((result, taken),) = merged.between
        joined = _join_forms(merged.first, result, merged.second, taken, merged.outputs[0])
        if joined is None:
            return None
        last, axes = joined
        packed = frozenset(merged.inputs[n] for n in constants)
        if not _keeps_vectors(merged.first[-1], last, axes, packed, blocks, target):
            return None
        return merged.kernel([*merged.second[:-1], *merged.first[:-1], last], merged.temporaries).measured()

    merger = Merger(with_epilogue)

    def merge(a: RunKernel, b: RunKernel, mentions: Mentions) -> RunKernel | None:
        slot, out = a.outputs[0].resolve(), b.outputs[0].resolve()
        readers = [s for s in mentions.steps(out) if s is not b]
        blocks = out.kind == TEMP and all(isinstance(s, RunKernel) and _reads_blocks(s, out) for s in readers)
        views = dict.fromkeys((x.resolve(), p.shape) for x, p in zip(a.inputs, a.kernel.inputs))
        constants = frozenset(n for n, (x, _) in enumerate(views) if x.kind == CONSTANT)
        return merger.merge(a, b, [slot], (constants, blocks))

    merge_with_readers(program, only_reader, merge)


def _reads_blocks(s: RunKernel, slot: Slot) -> bool:
    """True if a kernel can read a slot in blocks as well as in rows: the slot is no factor of a product of two computed
    matrices."""
    if s.kernel.finished:
        return False
    constants = {p for x, p in zip(s.inputs, s.kernel.inputs) if x.resolve().kind == CONSTANT}
    for x, p in zip(s.inputs, s.kernel.inputs):
        if x.resolve() is not slot:
            continue
        if p.shape != slot.shape:
            return False
        for f in s.kernel.stages:
            if isinstance(f, Reduction):
                read = {e.source for e in operands(f)}
                if p in read and len(read) > 1 and not read & constants:
                    return False
    return True


def _join_forms(
    first: Sequence[AnyForm], result: Buffer, after: Sequence[AnyForm], read: Buffer, out: Buffer
) -> tuple[Map | Reduction, CommonAxes] | None:
    """The last stage of the first kernel, with that of the second as its epilogue, and the common axes; the result is `read` in
    the second.

    None unless that stage, and no other, reads each element of the result exactly once.
    """
    if not first or not after:
        return None
    last, second = first[-1], after[-1]
    if not isinstance(last, Map | Reduction) or not isinstance(second, Map):
        return None
    if len(last.stores) != 1 or len(second.stores) != 1 or last.stores[0].buffer is not result:
        return None
    if isinstance(last, Reduction) and last.guards:
        return None
    if result in buffers_read(*first) or _writes(first[:-1], result):
        return None
    if read in buffers_read(*after[:-1]) or _writes(after[:-1], out):
        return None
    store, then = last.stores[0], second.stores[0]
    if store.value.dtype != read.dtype:
        return None
    reads_at = {read.offset(e.indices): e for e in loads(then.value) if e.source is read}
    bounds = simplifier(second.loops)
    simplified = {bounds(p) for p in reads_at}
    if len(simplified) != 1:
        return None
    looks_up = any(looked_up(e) is not None for e in post_order(then.value))
    same = result.shape == read.shape == out.shape and bounds(out.offset(then.indices)) in simplified
    if same and not looks_up:
        return None  # no view is between them: FuseOps has decided whether they are one kernel
    axes = find_common_axes(last.loops, result.offset(store.indices), second.loops, next(iter(simplified)), result.size)
    if axes is None:
        return None
    simplify = simplifier(axes.loops, last.inner)

    def in_first(e: Expr) -> Expr:
        return simplify(substitute(e, axes.first))

    value = in_first(store.value)

    def take(e: Expr) -> Expr:
        return value if isinstance(e, Load) and e.source is read else e

    merged_store = Store(
        then.buffer,
        [simplify(substitute(i, axes.second)) for i in then.indices],
        simplify(rewrite(substitute(then.value, axes.second), take)),
    )
    if isinstance(last, Map):
        return Map(axes.loops, (merged_store,)), axes
    return replace(
        last, loops=axes.loops, init=in_first(last.init), update=in_first(last.update), stores=(merged_store,)
    ), axes


def _writes(forms: Sequence[AnyForm], b: Buffer) -> bool:
    return any(s.buffer is b for f in forms for s in stores_of(f))


def _keeps_vectors(
    before: AnyForm,
    after: Map | Reduction,
    axes: CommonAxes,
    constants: frozenset[Buffer],
    blocks: bool,
    target: VectorTarget,
) -> bool:
    """True if the vector axis of the first kernel is contiguous in the new result, or can be in its blocks."""
    assert isinstance(before, Map | Reduction)
    store = after.stores[0]
    lanes = target.lanes(dtypes.itemsize(store.buffer.dtype))
    simplify = simplifier(after.loops)
    place = store.buffer.offset(store.indices)

    def fits(v: Var, extent: int) -> bool:
        if stride(simplify, place, v) == 1:
            return True
        moving = [i for i in store.indices if depends(i, v)]
        return blocks and extent % lanes == 0 and len(moving) == 1 and moving[0] is v

    producer = before.stores[0]
    same = substitute(producer.buffer.offset(producer.indices), axes.first)
    if isinstance(before, Map) or (store.buffer.shape == producer.buffer.shape and simplify(same) is simplify(place)):
        return True
    weights = [v for v, _ in before.loops if any(e.source in constants and moves(e, v) for e in loads(before.update))]
    if any(v in axes.split for v in weights):
        return False
    extents = dict(after.loops)
    if weights:
        return any(fits(v, extents[v]) for v in weights)
    return any(stride(simplify, place, v) == 1 for v, n in after.loops if any(v is x for x, _ in before.loops))
