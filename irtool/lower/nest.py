"""A kernel's tensor expressions as its stages: axes, reduction axes, initial values, updates, stored results.

A formula becomes a map: axes around one store. A reduction has an accumulator in a local scalar: set to the identity,
updated over the reduction's axes, then stored; a formula that reads the reduction at its own indices and nowhere else is
computed from the accumulator (the epilogue), so that the reduction needs no memory. Loops are made of these forms when they
are scheduled; only an operator that writes its loops itself gives a nest.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace

from ..symbolic_int import holds, signs
from ..te import Compute, Tensor
from ..te.reduction import Reducer
from ..te.tensor import Extern
from ..tir import dtypes
from ..tir.builder import Builder
from ..tir.dtypes import accumulator_dtype
from ..tir.expr import Axis, Cast, Const, Expr, Load, Reduce, Var, cast, const, post_order, rewrite
from ..tir.forms import AnyForm, InOrder, Loop, Map, Reduction, TupleReduction, with_taps
from ..tir.kernel import Kernel
from ..tir.recognise import recognise
from ..tir.simplify import Simplifier
from ..tir.stmt import Buffer, For, If, Scope, Stmt, Store, pre_order, rewrite_stmt, seq, substitute_stmt
from ..tir.vector_target import USUAL, VectorTarget
from .compose import TensorGraph
from .stages import TensorStage, choose_stages


def lower_function(graph: TensorGraph, name: str, target: VectorTarget = USUAL) -> Kernel:
    """One kernel for the whole graph; its parameters are the graph's inputs, then its outputs."""
    stages = choose_stages(graph.outputs, target)
    buffers: dict[Tensor, Buffer] = {}
    for n, t in enumerate(graph.inputs):
        buffers[t] = Buffer(f"p{n}", t.shape, t.dtype, Scope.PARAM)
    outputs: list[Buffer] = []
    copies: list[tuple[Tensor, Buffer]] = []
    for n, t in enumerate(graph.outputs):
        out = Buffer(f"out{n}" if len(graph.outputs) > 1 else "out", t.shape, t.dtype, Scope.PARAM)
        outputs.append(out)
        if t in buffers:  # an input handed through, or the same tensor twice
            copies.append((t, out))
        else:
            buffers[t] = out
    epilogues = _epilogues(stages, {t.op for t in graph.outputs})
    temporaries: list[Buffer] = []
    names: dict[str, int] = {}
    forms: list[AnyForm] = []
    folded = {producer.op for producer in epilogues.values()}
    needed = {*graph.outputs, *(t for s in stages for t in s.reads)}
    for stage in stages:
        if stage.op in folded:
            continue
        for t in stage.op.outputs:
            if t not in buffers and (t in needed or isinstance(stage.op, Extern)):
                seen = names[t.name] = names.get(t.name, 0) + 1
                buffers[t] = Buffer(t.name if seen == 1 else f"{t.name}_{seen}", t.shape, t.dtype, Scope.GLOBAL)
                temporaries.append(buffers[t])
        if isinstance(stage.op, Extern):
            own, written = recognise(_written_out(stage.op, buffers))
            temporaries += own
            forms += written
        else:
            forms += _lower_stage(stage, epilogues.get(stage), buffers)
    forms += [form for t, out in copies for form in _copy(buffers[t], out)]
    params = [*(buffers[t] for t in graph.inputs), *outputs]
    return Kernel(name, params, forms, len(outputs), temporaries=temporaries).measured()


def _copy(source: Buffer, target: Buffer) -> list[AnyForm]:
    axes = [Axis(f"i{n}", extent) for n, extent in enumerate(source.shape)]
    return _Over(axes).map([Store(target, axes, source[tuple(axes)])])


def _epilogues(stages: Sequence[TensorStage], results: set) -> dict[TensorStage, TensorStage]:
    """Formula stages that take over the storing of a reduction: consumer ⇒ the reduction."""
    by_op = {s.op: s for s in stages}
    readers: dict[object, list[TensorStage]] = {}
    for s in stages:
        for t in s.reads:
            readers.setdefault(t.op, []).append(s)
    result: dict[TensorStage, TensorStage] = {}
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
            result[s] = max(candidates, key=_work)
    return result


def _work(stage: TensorStage) -> int:
    assert isinstance(stage.op, Compute)
    n = 1
    for a in (*stage.op.axes, *stage.op.reduce_axes):
        n *= a.extent
    return n


def _reads_in_place(reader: TensorStage, producer: TensorStage) -> bool:
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


def _written_out(op: Extern, buffers: dict[Tensor, Buffer]) -> Stmt:
    """The loops of an operator that writes them itself."""
    builder = Builder()
    op.build(builder, [buffers[t] for t in op.inputs], [buffers[t] for t in op.outputs])
    return simplify_nest(builder.finish())


def _lower_stage(stage: TensorStage, reduction: TensorStage | None, buffers: dict[Tensor, Buffer]) -> list[AnyForm]:
    """The form of a stage; none if it has no steps. Outputs without a buffer (the extreme that an arg-max compares with) are
    not stored."""
    op = stage.op
    assert isinstance(op, Compute)
    targets = [buffers.get(t) for t in op.outputs]
    over = _Over(op.axes, buffers)
    if reduction is not None:
        inner = reduction.op
        assert isinstance(inner, Compute)
        over.rename(inner.axes, op.axes)
        acc = over.accumulate(inner.outputs[0])
        stores = [Store(b, op.axes, e) for b, e in zip(targets, stage.bodies, strict=True) if b]
        return over.reduction(reduction.bodies, [acc], stores)
    if op.reduce_axes:
        accs = [
            Buffer(f"acc{n}" if len(targets) > 1 else "acc", (), t.dtype, Scope.LOCAL) for n, t in enumerate(op.outputs)
        ]
        if len(accs) == 1:
            accs = [_accumulator(stage.bodies[0])]
        stores = [Store(b, op.axes, cast(h[()], b.dtype)) for b, h in zip(targets, accs, strict=True) if b]
        return over.reduction(stage.bodies, accs, stores)
    return over.map([Store(b, op.axes, e) for b, e in zip(targets, stage.bodies, strict=True) if b])


def _accumulator(body: Expr) -> Buffer:
    assert isinstance(body, Reduce)
    wide = accumulator_dtype(body.dtype) if body.reducer.name in ("sum", "prod") else body.dtype
    return Buffer("acc", (), wide, Scope.LOCAL)


class _Over:
    """Formulas over the axes of a stage's results: of buffers instead of tensors, of loops' variables instead of axes.

    Loops run from 0; an axis of one step needs none.
    """

    def __init__(self, axes: Sequence[Axis], buffers: dict[Tensor, Buffer] | None = None) -> None:
        self._buffers = buffers or {}
        self._accumulators: dict[Tensor, Buffer] = {}
        self._memo: dict[Expr, Expr] = {}
        self._loops = self._open(axes)

    def _open(self, axes: Sequence[Axis]) -> tuple[Loop, ...]:
        loops: list[Loop] = []
        for a in axes:
            if a.extent == 1:
                self._memo[a] = const(a.begin, a.dtype)
                continue
            v = Var(a.name, a.dtype)
            self._memo[a] = v + a.begin
            loops.append((v, a.extent))
        return tuple(loops)

    def rename(self, axes: Sequence[Axis], like: Sequence[Axis]) -> None:
        """Takes axes for others, of the same extents."""
        self._memo.update({a: self._memo[b] for a, b in zip(axes, like, strict=True)})

    def accumulate(self, t: Tensor) -> Buffer:
        """Makes reads of `t` reads of an accumulator, which is returned."""
        accumulator = self._accumulators[t] = _accumulator(t.op.bodies[t.index])  # type: ignore[attr-defined]  # an accumulating operation is computed, not an input
        return accumulator

    def map(self, stores: Sequence[Store]) -> list[AnyForm]:
        """The stores, for every step of the axes."""
        return _counted(Map(self._loops, self._finish(Simplifier(_bounds(self._loops)), stores)))

    def reduction(self, bodies: Sequence[Expr], accs: Sequence[Buffer], stores: Sequence[Store]) -> list[AnyForm]:
        """Reductions over the same axes, one to each accumulator, and the stores after them."""
        first = bodies[0]
        assert isinstance(first, Reduce)
        inner = self._open(first.axes)
        taps = [v for (v, _), a in zip(inner, (a for a in first.axes if a.extent != 1), strict=True) if a.window]
        simplify = Simplifier(_bounds((*self._loops, *inner)))
        types = [b.dtype for b in accs]
        sources = tuple(cast(self._read(s), d) for s, d in zip(first.sources, types, strict=True))
        inits = tuple(simplify(e) for e in first.reducer.identity(types))
        updates = tuple(simplify(e) for e in first.reducer.combine(tuple(b[()] for b in accs), sources))
        condition = None if first.condition is None else simplify(self._read(first.condition))
        in_order = _in_order(first.reducer, accs, sources, simplify) if _counts(sources[0], inner, simplify) else None
        form = TupleReduction(
            self._loops, tuple(accs), inits, inner, updates, self._finish(simplify, stores), condition, in_order
        )
        return _counted(form, taps)

    def _read(self, e: Expr) -> Expr:
        return rewrite(e, self._change, self._memo)

    def _change(self, e: Expr) -> Expr:
        if not isinstance(e, Load) or isinstance(e.source, Buffer):
            return e
        accumulator = self._accumulators.get(e.source)
        if accumulator is not None:
            return cast(accumulator[()], e.dtype)
        return Load(self._buffers[e.source], e.indices)

    def _finish(self, simplify: Simplifier, stores: Sequence[Store]) -> tuple[Store, ...]:
        return tuple(s.rewritten(lambda e: simplify(self._read(e))) for s in stores)


def _counts(e: Expr, loops: Sequence[Loop], simplify: Simplifier) -> bool:
    """True if an expression is the number of the step of these loops, the last of them innermost."""

    def uncast(x: Expr) -> Expr:
        return x.value if isinstance(x, Cast) and dtypes.is_int(x.dtype) and x.value in variables else x

    variables = {v for v, _ in loops}
    terms, offset = simplify.linear(rewrite(e, uncast))
    step, expected = 1, {}
    for v, extent in reversed(loops):
        expected[v] = step
        step *= extent
    return offset == 0 and terms == expected and step - 1 <= dtypes.largest(e.dtype)


def _in_order(
    reducer: Reducer, accs: Sequence[Buffer], sources: Sequence[Expr], simplify: Simplifier
) -> InOrder | None:
    """Reduction of values step by step, if the reducer allows it and the first source is the number of the step."""
    if reducer.first is None or reducer.append is None:
        return None
    types = [b.dtype for b in accs]
    left, right = (tuple(Var(f"{side}{n}", t) for n, t in enumerate(types)) for side in ("x", "y"))
    updates = reducer.append(tuple(b[()] for b in accs), tuple(sources))
    return InOrder(
        tuple(map(simplify, reducer.first(types))),
        tuple(map(simplify, updates)),
        left,
        right,
        reducer.extreme(left[1], right[1]) if reducer.extreme is not None else None,
        reducer.last,
    )


def _bounds(loops: Sequence[Loop]) -> dict[Expr, tuple[float, float]]:
    return {v: (0, n - 1) for v, n in loops}


def _counted(form: Map | TupleReduction, taps: Sequence[Var] = ()) -> list[AnyForm]:
    """The form, in the simplest kind that says it: nothing without steps, the initial values if nothing is reduced, a plain
    reduction of one accumulator."""
    if any(holds(operator.le, n, 0) for _, n in form.loops):
        return []
    if isinstance(form, Map):
        return [form]
    if isinstance(form.condition, Const) and form.condition.value:
        form = replace(form, condition=None)
    if isinstance(form.condition, Const) or any(holds(operator.le, n, 0) for _, n in form.inner):
        memo: dict[Expr, Expr] = {}

        def initial(e: Expr) -> Expr:
            if isinstance(e, Load) and e.source in form.accs:
                return form.inits[form.accs.index(e.source)]
            return e

        return [
            Map(form.loops, tuple(Store(s.buffer, s.indices, rewrite(s.value, initial, memo)) for s in form.stores))
        ]
    if form.condition is None and len(form.accs) == 1:
        r = Reduction(form.loops, form.accs[0], form.inits[0], form.inner, form.updates[0], form.stores)
        return [with_taps(r, taps)]
    return [form]


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
        body = substitute_stmt(body, values)
    for v, extent in reversed(loops):
        body = For(v, extent, body)
    return body


def simplify_nest(body: Stmt) -> Stmt:
    """Index arithmetic made small with the loops' bounds; branches that shapes decide are taken."""
    bounds: dict[Expr, tuple[float, float]] = {}
    for s in pre_order(body):
        if isinstance(s, For) and isinstance(s.extent, Const):
            bounds[s.var] = (0, s.extent.int_value - 1)
    simplify = Simplifier(bounds)

    def change(s: Stmt) -> Stmt:
        if isinstance(s, If) and isinstance(s.cond, Const):
            return s.then if s.cond.value else (s.other or seq([]))
        if isinstance(s, For) and isinstance(s.extent, Const) and signs(s.extent.int_value) <= {-1, 0}:
            return seq([])
        return s

    return rewrite_stmt(body, change, simplify)


__all__ = ["lower_function", "simplify_nest"]
