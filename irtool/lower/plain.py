"""Stages to plain loop nests: the computation of a kernel, before any schedule.

Every stage has loops of its own over all of its elements. A reduction sets an element to the identity and then updates it
in the reduction's loops, in the buffer of its result; no accumulator, no epilogue. These are the nests that `LowerTE`
prints; `nest` makes those that are compiled.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..te import Compute, Tensor
from ..te.tensor import Extern
from ..tir.builder import Builder
from ..tir.expr import Expr, Load, Reduce, Var, cast, rewrite
from ..tir.flatten import flatten
from ..tir.stmt import Allocate, Buffer, For, If, Let, PrimFunc, Scope, Stmt, Store, seq
from .compose import TensorGraph
from .nest import loops_over, simplify_nest
from .stages import TensorStage, choose_stages


def lower_plainly(graph: TensorGraph, name: str) -> PrimFunc:
    """A loop nest for the whole graph over flat buffers: inputs, then outputs, both under their tensors' names."""
    stages = choose_stages(graph.outputs)
    buffers: dict[Tensor, Buffer] = {t: Buffer(t.name, t.shape, t.dtype, Scope.PARAM) for t in graph.inputs}
    outputs: list[Buffer] = []
    copies: list[tuple[Tensor, Buffer]] = []
    for t in graph.outputs:
        out = Buffer(t.name, t.shape, t.dtype, Scope.PARAM)
        outputs.append(out)
        if t in buffers:  # an input handed through, or the same tensor twice
            copies.append((t, out))
        else:
            buffers[t] = out
    temporaries: list[Buffer] = []
    body: list[Stmt] = []
    for stage in stages:
        for t in stage.op.outputs:
            if t not in buffers:
                buffers[t] = Buffer(t.name, t.shape, t.dtype, Scope.GLOBAL)
                temporaries.append(buffers[t])
        body.append(_lower(stage, buffers))
    for t, out in copies:
        axes = [Var(f"ax{n}") for n in range(len(t.shape))]
        body.append(_looped(Store(out, axes, buffers[t][tuple(axes)]), list(zip(axes, t.shape))))
    whole = seq(body)
    for b in reversed(temporaries):
        whole = Allocate(b, whole)
    params = [*(buffers[t] for t in graph.inputs), *outputs]
    return flatten(PrimFunc(name, params, simplify_nest(whole), len(outputs)))


def _lower(stage: TensorStage, buffers: dict[Tensor, Buffer]) -> Stmt:
    op = stage.op
    if isinstance(op, Extern):
        builder = Builder()
        op.build(builder, [buffers[t] for t in op.inputs], [buffers[t] for t in op.outputs])
        return builder.finish()
    assert isinstance(op, Compute)
    memo: dict[Expr, Expr] = {}

    def read(e: Expr) -> Expr:
        return rewrite(e, lambda x: Load(buffers[x.source], x.indices) if isinstance(x, Load) else x, memo)

    targets = [buffers[t] for t in op.outputs]
    if op.reduce_axes:
        nest = _reduce(stage.bodies, read, [b[tuple(op.axes)] for b in targets])
    else:
        nest = seq([Store(b, op.axes, read(e)) for b, e in zip(targets, stage.bodies)])
    return loops_over(op.axes, nest)


def _reduce(bodies: Sequence[Expr], read, elements: Sequence[Load]) -> Stmt:
    """Sets the elements `elements` to the identity and runs the reduction on them."""
    first = bodies[0]
    assert isinstance(first, Reduce)
    types = [e.dtype for e in elements]
    init = [Store(e.source, e.indices, v) for e, v in zip(elements, first.reducer.identity(types))]
    new = first.reducer.combine(tuple(elements), tuple(cast(read(s), d) for s, d in zip(first.sources, types)))
    update: Stmt
    if len(elements) == 1:
        update = Store(elements[0].source, elements[0].indices, new[0])
    else:
        values = [Var(f"v_{e.source.name}", e.dtype) for e in elements]
        update = seq([Store(e.source, e.indices, v) for e, v in zip(elements, values)])
        for v, e in zip(reversed(values), reversed(new)):
            update = Let(v, e, update)
    if first.condition is not None:
        update = If(read(first.condition), update)
    return seq([*init, loops_over(first.axes, update)])


def _looped(body: Stmt, loops: Sequence[tuple[Var, int]]) -> Stmt:
    for v, extent in reversed(loops):
        body = For(v, extent, body)
    return body
