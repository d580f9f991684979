"""Forms of the stages of a kernel, as lowering makes them: axes, and the stores of each of their steps.

::

    form ::= Map(loops, stores)                                    for loops: stores
           | Reduction(loops, acc, init, inner, update, stores)    for loops: acc = init; for inner: acc = update; stores
           | TupleReduction(…)                                     the same with several accumulators, or under a condition
           | Steps(body)                                           any other nest: sorting, sampling, recurrences

`loops` are the axes of the results, `inner` those that are summed over, `stores` the epilogue: formulas of the accumulator.
Schedules read forms and make loops of them; `nest_of` makes the plain loops that a form stands for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..symbolic_int import bound
from .buffers import replace_buffers
from .expr import Const, Expr, Load, Var, post_order, rewrite
from .stmt import (
    SERIAL,
    Allocate,
    Buffer,
    For,
    If,
    Let,
    Scope,
    Seq,
    Stmt,
    Store,
    expressions,
    pre_order,
    seq,
)
from .windows import Loop as Loop
from .windows import Window, windows_of


@dataclass(frozen=True)
class Map:
    """Loops around stores."""

    loops: tuple[Loop, ...]
    stores: tuple[Store, ...]

    @property
    def inner(self) -> tuple[Loop, ...]:
        """The loops of the reduction: none."""
        return ()


@dataclass(frozen=True)
class Reduction:
    """Loops around: `acc = init`; inner loops around `acc = update`; stores that read `acc`.

    A step is made only where all the `guards` (see there) are at least 0; where they are `formed`, it must be made there as
    well, on the zero that stands for what is not read: a product of it need not be zero. `windows`: the axes of an operand along
    which each result reads a window; they are read anew from the operands, and those dropped that a rewrite has broken.
    """

    loops: tuple[Loop, ...]
    acc: Buffer
    init: Expr
    inner: tuple[Loop, ...]
    update: Expr
    stores: tuple[Store, ...]
    guards: tuple[Expr, ...] = ()
    formed: bool = False
    windows: tuple[Window, ...] = ()

    def __post_init__(self) -> None:
        if self.windows:
            taps = [w.tap for w in self.windows]
            operands = [e for e in post_order(self.update) if isinstance(e, Load) and e.source is not self.acc]
            object.__setattr__(self, "windows", tuple(windows_of(taps, operands, self.loops, self.inner)))

    @property
    def work(self) -> int:
        """Updates in all, at most."""
        return bound(math.prod(extent for _, extent in (*self.loops, *self.inner)))


def with_taps(r: Reduction, taps: Sequence[Var]) -> Reduction:
    """The reduction whose windows are those along these axes of the sum."""
    return replace(r, windows=tuple(Window(None, v, 0, 1, v) for v in taps)) if taps else r


@dataclass(frozen=True)
class InOrder:
    """A reduction whose steps are made in their order, of which some may be made by one and some by another.

    Attributes:
        inits, updates: of the accumulators, where there is at least one step; those of all steps may cost more.
        left, right: variables that stand for two results.
        extreme: the second value of both together, if it is an extreme and the first one its position; None otherwise.
        last: whether that is the position of the last one of equal elements, not of the first.
    """

    inits: tuple[Expr, ...]
    updates: tuple[Expr, ...]
    left: tuple[Var, ...]
    right: tuple[Var, ...]
    extreme: Expr | None = None
    last: bool = False


@dataclass(frozen=True)
class TupleReduction:
    """A reduction of several accumulators, each updated from the old values of all of them (an arg-max), or one whose steps
    only count where a `condition` holds. `in_order`: how to do it step by step and in parts, if that is known."""

    loops: tuple[Loop, ...]
    accs: tuple[Buffer, ...]
    inits: tuple[Expr, ...]
    inner: tuple[Loop, ...]
    updates: tuple[Expr, ...]
    stores: tuple[Store, ...]
    condition: Expr | None = None
    in_order: InOrder | None = None

    @property
    def work(self) -> int:
        """Updates in all, at most."""
        return bound(math.prod(extent for _, extent in (*self.loops, *self.inner)))


@dataclass(frozen=True)
class Steps:
    """A nest of another form: it is compiled as it is written, unless a strategy recognises it."""

    body: Stmt

    @property
    def work(self) -> int:
        """Updates in all, where they are known."""
        return 0


LoopForm = Map | Reduction | TupleReduction
AnyForm = LoopForm | Steps


def nest_of(form: AnyForm) -> Stmt:
    """The plain loops of a form, outermost first, all of them serial."""
    if isinstance(form, Steps):
        return form.body
    if isinstance(form, Map):
        return loops_around(form.loops, seq(form.stores))
    if isinstance(form, Reduction):
        assert not form.guards, "guards are taken from reads when a strategy is chosen"
        form = TupleReduction(form.loops, (form.acc,), (form.init,), form.inner, (form.update,), form.stores)
    first = [Store(b, (), e) for b, e in zip(form.accs, form.inits, strict=True)]
    body = seq([*first, loops_around(form.inner, _together(form)), *form.stores])
    for b in reversed(form.accs):
        body = Allocate(b, body)
    return loops_around(form.loops, body)


def _together(form: TupleReduction) -> Stmt:
    """One step: all accumulators get their new values at once."""
    if len(form.accs) == 1:
        update: Stmt = Store(form.accs[0], (), form.updates[0])
    else:
        values = [Var(f"t{n}", e.dtype) for n, e in enumerate(form.updates)]
        update = seq([Store(b, (), t) for b, t in zip(form.accs, values, strict=True)])
        for t, e in zip(reversed(values), reversed(form.updates), strict=True):
            update = Let(t, e, update)
    return update if form.condition is None else If(form.condition, update)


def loops_around(loops: Sequence[Loop], body: Stmt) -> Stmt:
    """Serial loops around a body, the first outermost."""
    for v, extent in reversed(loops):
        body = For(v, extent, body)
    return body


def peel_loops(s: Stmt) -> tuple[tuple[Loop, ...], Stmt]:
    """Perfectly nested serial loops of constant extent, and their body."""
    loops: list[Loop] = []
    while isinstance(s, For) and isinstance(s.extent, Const) and s.kind == SERIAL:
        loops.append((s.var, s.extent.int_value))
        s = s.body
    return tuple(loops), s


def stores_of(form: AnyForm) -> list[Store]:
    """The stores of a form to buffers; of `Steps`, also to those that it allocates."""
    if isinstance(form, Steps):
        return [s for s in pre_order(form.body) if isinstance(s, Store)]
    return list(form.stores)


def expressions_of(form: AnyForm) -> list[Expr]:
    """Every expression of a form."""
    if isinstance(form, Steps):
        return [e for s in pre_order(form.body) for e in expressions(s)]
    exprs = [e for s in form.stores for e in (*s.indices, s.value)]
    if isinstance(form, Reduction):
        exprs += [form.init, form.update, *form.guards]
    elif isinstance(form, TupleReduction):
        exprs += [*form.inits, *form.updates]
        if form.in_order is not None:
            exprs += form.in_order.updates
        if form.condition is not None:
            exprs.append(form.condition)
    return exprs


def buffers_read(*forms: AnyForm) -> set[Buffer]:
    """The buffers that forms read."""
    return {e.source for form in forms for e in post_order(*expressions_of(form)) if isinstance(e, Load)}


def with_buffers(form: AnyForm, replaced: Mapping[Buffer, Buffer]) -> AnyForm:
    """The form over other buffers (of the same shapes)."""
    if not replaced:
        return form
    if isinstance(form, Steps):
        return replace(form, body=replace_buffers(form.body, replaced))
    rewritten = rewrite_loads(form, lambda e: Load(replaced[e.source], e.indices) if e.source in replaced else e)
    stores = tuple(Store(replaced.get(s.buffer, s.buffer), s.indices, s.value) for s in rewritten.stores)
    return Map(rewritten.loops, stores) if isinstance(rewritten, Map) else replace(rewritten, stores=stores)


def rewrite_loads(form: LoopForm, other: Callable[[Load], Expr]) -> LoopForm:
    """The form with other values in place of reads, whose indices are rewritten by then."""
    return rewrite_form(form, lambda x: other(x) if isinstance(x, Load) else x)


def rewrite_form(form: LoopForm, change: Callable[[Expr], Expr]) -> LoopForm:
    """The form with `change(node)` in place of each node of its expressions, whose children are changed by then."""
    memo: dict[Expr, Expr] = {}
    return map_expressions(form, lambda e: rewrite(e, change, memo))


def map_expressions(form: LoopForm, change: Callable[[Expr], Expr]) -> LoopForm:
    """The form with `change(e)` in place of each of its expressions."""
    stores = tuple(s.rewritten(change) for s in form.stores)
    if isinstance(form, Map):
        return Map(form.loops, stores)
    if isinstance(form, Reduction):
        guards = tuple(change(g) for g in form.guards)
        return replace(form, init=change(form.init), update=change(form.update), stores=stores, guards=guards)
    return replace(
        form,
        inits=tuple(map(change, form.inits)),
        updates=tuple(map(change, form.updates)),
        stores=stores,
        condition=change(form.condition) if form.condition is not None else None,
        in_order=replace(form.in_order, updates=tuple(map(change, form.in_order.updates))) if form.in_order else None,
    )


def workspace(body: Stmt) -> tuple[list[Buffer], Stmt]:
    """The buffers of a nest in the workspace, outermost first, and the statement inside of their allocations."""
    buffers: list[Buffer] = []
    while isinstance(body, Allocate) and body.buffer.scope == Scope.GLOBAL:
        buffers.append(body.buffer)
        body = body.body
    return buffers, body


def with_workspace(buffers: Sequence[Buffer], body: Stmt) -> Stmt:
    """A nest inside of its buffers, the first of them outermost."""
    for b in reversed(buffers):
        body = Allocate(b, body)
    return body


def statements(body: Stmt) -> tuple[Stmt, ...]:
    """The statements that run one after the other at the top of a nest."""
    return body.stmts if isinstance(body, Seq) else (body,)
