"""Fusion of a kernel into the one kernel whose result it reads, past reshapes and transposes.

    s = dense(x, w)                        (a kernel)        for m, c: acc = …;
    y = gelu(transpose(reshape(s)) + b)    (a kernel)   ⇒       y[c, m // 8, m % 8] = gelu(acc + b[c])

Operators are fused by what they are (`FuseOps`), kernels here by what they do: the second one passes over the elements of the
first one's result, each once, in whatever order. Where its own order can be kept in vectors, the result needs no memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...tir import dtypes
from ...tir.expr import Expr, Load, Var, post_order, rewrite, substitute
from ...tir.forms import AnyForm, Map, Reduction, buffers_read, stores_of, with_buffers
from ...tir.kernel import Kernel
from ...tir.program import CONSTANT, TEMP, Program, RunKernel, Slot
from ...tir.stmt import Buffer, Store
from ...tir.tables import looked_up
from ...tir.vector_target import VectorTarget
from ..core.affine import depends, loads, moves, operands, simplifier, stride
from .common_axes import CommonAxes, find_common_axes
from .step_lists import Mentions, fused_facts, rewrite_step_lists


def fuse_epilogues(program: Program, target: VectorTarget) -> None:
    """Joins what can be joined in every function of the program."""
    rewrite_step_lists(program, _Fuser(target).fuse)


class _Fuser:
    """Of equal pairs one kernel is made."""

    def __init__(self, target: VectorTarget) -> None:
        self.target = target
        self._made: dict[tuple, Kernel | None] = {}

    def fuse(self, body: list, mentions: Mentions) -> None:
        """Joins steps of a list that run one after the other, in place."""
        at = 0
        while at < len(body):
            first = body[at]
            joined = self._with_reader(first, at, body, mentions) if isinstance(first, RunKernel) else None
            if joined is None:
                at += 1
                continue
            both, n, second = joined
            mentions.fused((first, second), both)
            # Where everything is there that the second one reads, the first one's place keeps its inputs alive no longer.
            early = all(not _written(body[at + 1 : n], x) for x in both.inputs)
            body[n if not early else at] = both
            del body[at if not early else n]

    def _with_reader(
        self, first: RunKernel, at: int, body: Sequence, mentions: Mentions
    ) -> tuple[RunKernel, int, RunKernel] | None:
        """The step joined with the only one that reads its result, and where that one stands."""
        if first.kernel.finished or len(first.outputs) != 1:
            return None
        slot = first.outputs[0].resolve()
        names = mentions.of(slot)
        if slot.kind != TEMP or len(names) != 2 or id(first) not in names:
            return None
        found = next(((n, s) for n, s in enumerate(body[at + 1 :], at + 1) if id(s) in names), None)
        if found is None or not isinstance(found[1], RunKernel):
            return None
        n, second = found
        if not all(isinstance(s, RunKernel) for s in body[at:n]):
            return None
        both = self._joined(first, second, slot, mentions)
        return (both, n, second) if both is not None else None

    def _joined(self, a: RunKernel, b: RunKernel, slot: Slot, mentions: Mentions) -> RunKernel | None:
        if b.kernel.finished or len(b.outputs) != 1:
            return None
        if sum(x.resolve() is slot for x in b.inputs) != 1:
            return None
        out = b.outputs[0].resolve()
        pairs: dict[tuple[Slot, tuple[int, ...]], int] = {}
        order = [
            pairs.setdefault((x.resolve(), p.shape), len(pairs))
            for s in (a, b)
            for x, p in zip(s.inputs, s.kernel.inputs)
        ]
        constants = frozenset(p for x, p in zip(a.inputs, a.kernel.inputs) if x.resolve().kind == CONSTANT)
        readers = [s for s in mentions.steps(out) if s is not b]
        blocks = out.kind == TEMP and all(isinstance(s, RunKernel) and _reads_blocks(s, out) for s in readers)
        key = (a.kernel, b.kernel, tuple(order), constants, blocks)
        if key not in self._made:
            read = next(p for x, p in zip(b.inputs, b.kernel.inputs) if x.resolve() is slot)
            self._made[key] = self._one_kernel(a.kernel, b.kernel, read, order, constants, blocks)
        kernel = self._made[key]
        if kernel is None:
            return None
        inputs = [x for (x, _), n in sorted(pairs.items(), key=lambda p: p[1]) if x is not slot]
        return RunKernel(kernel, inputs, [out], places=a.places + b.places)

    def _one_kernel(
        self, a: Kernel, b: Kernel, read: Buffer, order: Sequence[int], constants: frozenset[Buffer], blocks: bool
    ) -> Kernel | None:
        # Both may be one kernel, so each gets buffers of its own.
        params: dict[int, Buffer] = {}
        own: dict[Buffer, Buffer] = {b: b.replace() for b in a.temporaries}
        others: dict[Buffer, Buffer] = {b: b.replace() for b in b.temporaries}
        numbers = iter(order)
        for kernel, replaced in ((a, own), (b, others)):
            for old in kernel.inputs:
                n = next(numbers)
                if kernel is b and old is read and replaced is others:
                    continue
                replaced[old] = params.setdefault(n, old.replace(name=f"p{len(params)}"))
        result = own[a.outputs[0]] = a.outputs[0].replace(name="value")
        taken = others[read] = read.replace(name="taken")
        out = others[b.outputs[0]] = b.outputs[0].replace(name="out")
        first = [with_buffers(f, own) for f in a.stages]
        second = [with_buffers(f, others) for f in b.stages]
        joined = _join_forms(first, result, second, taken, out)
        if joined is None:
            return None
        last, axes = joined
        packed = frozenset(own[c] for c in constants)
        if not _keeps_vectors(first[-1], last, axes, packed, blocks, self.target):
            return None
        made = Kernel(
            params=[*params.values(), out],
            stages=[*second[:-1], *first[:-1], last],
            temporaries=[*(others[t] for t in b.temporaries), *(own[t] for t in a.temporaries)],
            **fused_facts((a, b)),
        )
        return made.measured()


def _reads_blocks(s: RunKernel, slot: Slot) -> bool:
    """True if a kernel reads blocks of a slot as well as rows: it is no matrix that is multiplied by another computed one."""
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


def _written(between: Sequence[RunKernel], slot: Slot) -> bool:
    return any(x.resolve() is slot.resolve() for s in between for x in s.outputs)


def _join_forms(
    first: Sequence[AnyForm], result: Buffer, after: Sequence[AnyForm], read: Buffer, out: Buffer
) -> tuple[Map | Reduction, CommonAxes] | None:
    """The last stage of the first kernel with that of the second as its epilogue, and the axes of both; None where that one, and
    no other, does not read each element of the result just once. The result is `read` in the second one."""
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
    places = {read.offset(e.indices): e for e in loads(then.value) if e.source is read}
    bounds = simplifier(second.loops)
    simplified = {bounds(p) for p in places}
    if len(simplified) != 1:
        return None
    looks_up = any(looked_up(e) is not None for e in post_order(then.value))
    same = result.shape == read.shape == out.shape and bounds(out.offset(then.indices)) in simplified
    if same and not looks_up:
        return None  # nothing lies between them: whether they are one kernel has been decided by what they are
    axes = find_common_axes(last.loops, result.offset(store.indices), second.loops, next(iter(simplified)), result.size)
    if axes is None:
        return None
    simplify = simplifier(axes.loops, last.inner)

    def in_first(e: Expr) -> Expr:
        return simplify(substitute(e, axes.first))

    value = in_first(store.value)

    def take(e: Expr) -> Expr:
        return value if isinstance(e, Load) and e.source is read else e

    made = Store(
        then.buffer,
        [simplify(substitute(i, axes.second)) for i in then.indices],
        simplify(rewrite(substitute(then.value, axes.second), take)),
    )
    if isinstance(last, Map):
        return Map(axes.loops, (made,)), axes
    return replace(last, loops=axes.loops, init=in_first(last.init), update=in_first(last.update), stores=(made,)), axes


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
    """True if the axis along which the first kernel works in vectors is contiguous in the new result, or can be in its blocks."""
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

    made = before.stores[0]
    same = substitute(made.buffer.offset(made.indices), axes.first)
    if isinstance(before, Map) or (store.buffer.shape == made.buffer.shape and simplify(same) is simplify(place)):
        return True
    weights = [v for v, _ in before.loops if any(e.source in constants and moves(e, v) for e in loads(before.update))]
    if any(v in axes.split for v in weights):
        return False
    extents = dict(after.loops)
    if weights:
        return any(fits(v, extents[v]) for v in weights)
    return any(stride(simplify, place, v) == 1 for v, n in after.loops if any(v is x for x, _ in before.loops))
