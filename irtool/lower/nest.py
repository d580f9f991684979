"""Stages to loop nests.

A formula becomes loops around one store. A reduction becomes loops around an accumulator in a local scalar: set to the
identity, updated in the reduction's loops, then stored; a formula that reads the reduction at its own indices and
nowhere else is computed from the accumulator (the epilogue), so that the reduction needs no memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..te import Compute, Tensor
from ..te.tensor import Extern
from ..tir.builder import Builder
from ..tir.expr import Axis, Const, Expr, Load, Reduce, Var, cast, const, post_order, rewrite
from ..tir.simplify import Simplifier
from ..tir.stmt import Allocate, Buffer, For, If, Let, PrimFunc, Stmt, Store, pre_order, rewrite_stmt, seq
from .compose import TensorGraph
from .stages import Stage, choose_stages

_WIDE = {"float16": "float32", "bfloat16": "float32"}
"""Sums and products of 16-bit floats are accumulated in single precision, as numpy's are."""


def lower_function(graph: TensorGraph, name: str) -> PrimFunc:
    """One loop nest for the whole graph; its parameters are the graph's inputs, then its outputs."""
    stages = choose_stages(graph.outputs)
    buffers: dict[Tensor, Buffer] = {}
    for n, t in enumerate(graph.inputs):
        buffers[t] = Buffer(f"p{n}", t.shape, t.dtype, "param")
    outputs: list[Buffer] = []
    copies: list[tuple[Tensor, Buffer]] = []
    for n, t in enumerate(graph.outputs):
        out = Buffer(f"out{n}" if len(graph.outputs) > 1 else "out", t.shape, t.dtype, "param")
        outputs.append(out)
        if t in buffers:  # an input handed through, or the same tensor twice
            copies.append((t, out))
        else:
            buffers[t] = out
    epilogues = _epilogues(stages, {t.op for t in graph.outputs})
    temporaries: list[Buffer] = []
    names: dict[str, int] = {}
    body: list[Stmt] = []
    folded = {producer.op for producer in epilogues.values()}
    needed = {*graph.outputs, *(t for s in stages for t in s.reads)}
    for stage in stages:
        if stage.op in folded:
            continue
        for t in stage.op.outputs:
            if t not in buffers and (t in needed or isinstance(stage.op, Extern)):
                seen = names[t.name] = names.get(t.name, 0) + 1
                buffers[t] = Buffer(t.name if seen == 1 else f"{t.name}_{seen}", t.shape, t.dtype, "arena")
                temporaries.append(buffers[t])
        body.append(_lower_stage(stage, epilogues.get(stage), buffers))
    for t, out in copies:
        body.append(_copy(buffers[t], out))
    whole = seq(body)
    for b in reversed(temporaries):
        whole = Allocate(b, whole)
    return PrimFunc(name, [*(buffers[t] for t in graph.inputs), *outputs], simplify_nest(whole), len(outputs))


def _copy(source: Buffer, target: Buffer) -> Stmt:
    axes = [Var(f"i{n}") for n in range(source.ndim)]
    nest: Stmt = Store(target, axes, source[tuple(axes)])
    for v, extent in zip(reversed(axes), reversed(source.shape)):
        nest = For(v, extent, nest)
    return nest


def _epilogues(stages: Sequence[Stage], results: set) -> dict[Stage, Stage]:
    """Formula stages that take over the storing of a reduction: consumer ⇒ the reduction."""
    by_op = {s.op: s for s in stages}
    readers: dict[object, list[Stage]] = {}
    for s in stages:
        for t in s.reads:
            readers.setdefault(t.op, []).append(s)
    found: dict[Stage, Stage] = {}
    for s in stages:
        op = s.op
        if not isinstance(op, Compute) or op.reduce_axes:
            continue
        candidates = [
            by_op[t.op]
            for t in s.reads
            if isinstance(t.op, Compute) and t.op.reduce_axes and t.op not in results and len(t.op.bodies) == 1
        ]
        candidates = [c for c in candidates if len(readers[c.op]) == 1 and _reads_in_place(s, c)]
        if candidates:
            found[s] = max(candidates, key=_work)
    return found


def _work(stage: Stage) -> int:
    assert isinstance(stage.op, Compute)
    n = 1
    for a in (*stage.op.axes, *stage.op.reduce_axes):
        n *= a.extent
    return n


def _reads_in_place(reader: Stage, producer: Stage) -> bool:
    """True if every read of the producer is at the reader's own indices, and both have the same shape."""
    op = reader.op
    assert isinstance(op, Compute)
    if op.outputs[0].shape != producer.op.outputs[0].shape:
        return False
    for e in post_order(*reader.bodies):
        if isinstance(e, Load) and e.source.op is producer.op:
            for i, a in zip(e.indices, op.axes):
                if i is not a and not (a.extent == 1 and isinstance(i, Const)):
                    return False
    return True


def _lower_stage(stage: Stage, reduction: Stage | None, buffers: dict[Tensor, Buffer]) -> Stmt:
    """The loops of a stage. Outputs that have no buffer (the extreme that an arg-max compares with) are not stored."""
    op = stage.op
    if isinstance(op, Extern):
        builder = Builder()
        op.build(builder, [buffers[t] for t in op.inputs], [buffers[t] for t in op.outputs])
        return builder.finish()
    assert isinstance(op, Compute)
    to_buffers = _Reader(buffers)
    targets = [buffers.get(t) for t in op.outputs]
    loops = list(op.axes)
    if reduction is not None:
        inner = reduction.op
        assert isinstance(inner, Compute)
        here: dict[Expr, Expr] = dict(zip(inner.axes, op.axes))
        sources = [rewrite(b, lambda e: e, memo=dict(here)) for b in reduction.bodies]
        held = to_buffers.accumulated(inner.outputs[0])
        nest = _reduce(sources, to_buffers, [held])
        stores = [Store(b, _plain(loops), to_buffers(e)) for b, e in zip(targets, stage.bodies) if b]
        nest = _with_accumulators([held], nest, stores)
    elif op.reduce_axes:
        held_all = [
            Buffer(f"acc{n}" if len(targets) > 1 else "acc", (), t.dtype, "local") for n, t in enumerate(op.outputs)
        ]
        if len(held_all) == 1:
            held_all = [_accumulator(stage.bodies[0])]
        nest = _reduce(stage.bodies, to_buffers, held_all)
        stores = [Store(b, _plain(loops), cast(h[()], b.dtype)) for b, h in zip(targets, held_all) if b]
        nest = _with_accumulators(held_all, nest, stores)
    else:
        nest = seq([Store(b, _plain(loops), to_buffers(e)) for b, e in zip(targets, stage.bodies) if b])
    return loops_over(loops, nest)


def _plain(axes: Sequence[Axis]) -> list[Expr]:
    return list(axes)


def _accumulator(body: Expr) -> Buffer:
    assert isinstance(body, Reduce)
    wide = _WIDE.get(body.dtype, body.dtype) if body.reducer.name in ("sum", "prod") else body.dtype
    return Buffer("acc", (), wide, "local")


class _Reader:
    """Turns reads of tensors into reads of buffers."""

    def __init__(self, buffers: dict[Tensor, Buffer]) -> None:
        self._buffers = buffers
        self._held: dict[Tensor, Buffer] = {}
        self._memo: dict[Expr, Expr] = {}

    def accumulated(self, t: Tensor) -> Buffer:
        """Makes reads of `t` reads of an accumulator, which is returned."""
        held = self._held[t] = _accumulator(t.op.bodies[t.index])  # type: ignore[attr-defined]
        return held

    def __call__(self, e: Expr) -> Expr:
        return rewrite(e, self._change, self._memo)

    def _change(self, e: Expr) -> Expr:
        if not isinstance(e, Load) or isinstance(e.source, Buffer):
            return e
        held = self._held.get(e.source)
        if held is not None:
            return cast(held[()], e.dtype)
        return Load(self._buffers[e.source], e.indices)


def _reduce(bodies: Sequence[Expr], read: _Reader, held: Sequence[Buffer]) -> Stmt:
    """Sets the accumulators to the identity and runs the reduction."""
    first = bodies[0]
    assert isinstance(first, Reduce)
    types = [b.dtype for b in held]
    sources = tuple(cast(read(s), d) for s, d in zip(first.sources, types))
    init = [Store(b, (), v) for b, v in zip(held, first.reducer.identity(types))]
    old = tuple(b[()] for b in held)
    new = first.reducer.combine(old, sources)
    update: Stmt
    if len(held) == 1:
        update = Store(held[0], (), new[0])
    else:
        temporaries = [Var(f"t{n}", e.dtype) for n, e in enumerate(new)]
        update = seq([Store(b, (), t) for b, t in zip(held, temporaries)])
        for t, e in zip(reversed(temporaries), reversed(new)):
            update = Let(t, e, update)
    if first.condition is not None:
        update = If(read(first.condition), update)
    return seq([*init, loops_over(first.axes, update)])


def _with_accumulators(held: Sequence[Buffer], nest: Stmt, stores: Sequence[Stmt]) -> Stmt:
    body = seq([nest, *stores])
    for b in reversed(held):
        body = Allocate(b, body)
    return body


def loops_over(axes: Sequence[Axis], body: Stmt) -> Stmt:
    """Loops over the axes, from 0; an axis of one step needs none."""
    values: dict[Expr, Expr] = {}
    loops: list[tuple[Var, int]] = []
    for a in axes:
        if a.extent == 1:
            values[a] = const(a.begin, a.dtype)
            continue
        v = Var(a.name, a.dtype)
        values[a] = v + a.begin
        loops.append((v, a.extent))
    if values:
        memo = dict(values)
        body = rewrite_stmt(body, lambda s: s, lambda e: rewrite(e, lambda x: x, memo))
    for v, extent in reversed(loops):
        body = For(v, extent, body)
    return body


def simplify_nest(body: Stmt) -> Stmt:
    """Index arithmetic made small with the loops' bounds; branches that shapes decide are taken."""
    bounds: dict[Expr, tuple[float, float]] = {}
    for s in pre_order(body):
        if isinstance(s, For) and isinstance(s.extent, Const):
            bounds[s.var] = (0, int(s.extent.value) - 1)
    simplify = Simplifier(bounds)

    def change(s: Stmt) -> Stmt:
        if isinstance(s, If) and isinstance(s.cond, Const):
            return s.then if s.cond.value else (s.other or seq([]))
        if isinstance(s, For) and isinstance(s.extent, Const) and s.extent.value <= 0:
            return seq([])
        return s

    return rewrite_stmt(body, change, simplify)


__all__ = ["lower_function", "simplify_nest"]
