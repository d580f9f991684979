"""The two forms of nest that lowering makes, recognised: element by element, and reduction with accumulators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from ..tir.expr import Const, Expr, Load, Var, post_order, rewrite
from ..tir.simplify import Simplifier
from ..tir.stmt import SERIAL, Allocate, Buffer, For, Seq, Stmt, Store, expressions, pre_order, rewrite_stmt

Loop = tuple[Var, int]


@dataclass(frozen=True)
class Map:
    """Loops around stores."""

    loops: tuple[Loop, ...]
    stores: tuple[Store, ...]

    @property
    def inner(self) -> tuple[Loop, ...]:
        """The loops of the reduction: there is none."""
        return ()


@dataclass(frozen=True)
class Reduction:
    """Loops around: `acc = init`; inner loops around `acc = update`; stores that read `acc`.

    A step is made only where all the `guards` (see there) are at least 0.
    """

    loops: tuple[Loop, ...]
    acc: Buffer
    init: Expr
    inner: tuple[Loop, ...]
    update: Expr
    stores: tuple[Store, ...]
    guards: tuple[Expr, ...] = ()

    @property
    def work(self) -> int:
        """Updates in all."""
        n = 1
        for _, extent in (*self.loops, *self.inner):
            n *= extent
        return n


Form = TypeVar("Form", Map, Reduction)


def substituted(
    form: Form, values: Mapping[Expr, Expr], loops: Sequence[Loop], inner: Sequence[Loop] | None = None
) -> Form:
    """The form with variables replaced, over other loops of results, and other `inner` loops, if they are given; simplified
    with what is known of all of them."""
    inside: Sequence[Loop] = form.inner if inner is None else inner
    simplify = Simplifier({v: (0, n - 1) for v, n in (*loops, *inside)})
    memo = dict(values)

    def change(e: Expr) -> Expr:
        return simplify(rewrite(e, lambda x: x, memo))

    stores = tuple(Store(s.buffer, [change(i) for i in s.indices], change(s.value)) for s in form.stores)
    if isinstance(form, Map):
        return replace(form, loops=tuple(loops), stores=stores)
    init, update, guards = change(form.init), change(form.update), tuple(map(change, form.guards))
    return replace(
        form, loops=tuple(loops), inner=tuple(inside), stores=stores, init=init, update=update, guards=guards
    )


def workspace(body: Stmt) -> tuple[list[Buffer], Stmt]:
    """The buffers of a nest that lie in the workspace, outermost first, and what is inside of them."""
    buffers: list[Buffer] = []
    while isinstance(body, Allocate) and body.buffer.scope == "arena":
        buffers.append(body.buffer)
        body = body.body
    return buffers, body


def with_workspace(buffers: Sequence[Buffer], body: Stmt) -> Stmt:
    """A nest inside of its buffers, the first of them outermost."""
    for b in reversed(buffers):
        body = Allocate(b, body)
    return body


def stages(body: Stmt) -> list[Stmt]:
    """The nests of a kernel, in order, without the buffers around them."""
    _, s = workspace(body)
    return list(s.stmts) if isinstance(s, Seq) and recognise(s) is None else [s]


def peel(s: Stmt) -> tuple[tuple[Loop, ...], Stmt]:
    """Perfectly nested serial loops of constant extent, and what is in them."""
    loops: list[Loop] = []
    while isinstance(s, For) and isinstance(s.extent, Const) and s.kind == SERIAL:
        loops.append((s.var, int(s.extent.value)))
        s = s.body
    return tuple(loops), s


def recognise(s: Stmt) -> Map | Reduction | None:
    """The form of a stage; None if it has another."""
    loops, body = peel(s)
    if isinstance(body, Store):
        return Map(loops, (body,))
    if isinstance(body, Seq) and all(isinstance(x, Store) for x in body.stmts):
        stores = tuple(x for x in body.stmts if isinstance(x, Store))
        if not any(x.buffer.scope == "local" for x in stores):
            return Map(loops, stores)
        return None
    if not isinstance(body, Allocate) or body.buffer.scope != "local" or body.buffer.ndim:
        return None
    acc = body.buffer
    parts = body.body.stmts if isinstance(body.body, Seq) else (body.body,)
    if len(parts) < 3 or not isinstance(parts[0], Store) or parts[0].buffer is not acc:
        return None
    inner, update = peel(parts[1])
    rest = parts[2:]
    if not isinstance(update, Store) or update.buffer is not acc or not all(isinstance(x, Store) for x in rest):
        return None
    stores = tuple(x for x in rest if isinstance(x, Store))
    if any(x.buffer is acc for x in stores):
        return None
    return Reduction(loops, acc, parts[0].value, inner, update.value, stores)


def nest(loops: tuple[tuple[Var, int, str], ...] | list[tuple[Var, int, str]], body: Stmt) -> Stmt:
    """Loops `(variable, extent, kind)` around a body; those of one step are left out (their variable is replaced by the
    caller)."""
    for v, extent, kind in reversed(loops):
        body = For(v, extent, body, kind)
    return body


def simplifier(*statements: Stmt) -> Simplifier:
    """A simplifier that knows the loops below."""
    bounds: dict[Expr, tuple[float, float]] = {}
    for root in statements:
        for s in pre_order(root):
            if isinstance(s, For) and isinstance(s.extent, Const):
                bounds[s.var] = (0, int(s.extent.value) - 1)
    return Simplifier(bounds)


def with_buffers(root: Stmt, replaced: dict[Buffer, Buffer]) -> Stmt:
    """The nest over other buffers (of the same shapes)."""
    if not replaced:
        return root
    memo: dict[Expr, Expr] = {}

    def change_expr(e: Expr) -> Expr:
        if isinstance(e, Load) and e.source in replaced:
            return Load(replaced[e.source], e.indices)
        return e

    def change(s: Stmt) -> Stmt:
        if isinstance(s, Store) and s.buffer in replaced:
            return Store(replaced[s.buffer], s.indices, s.value)
        if isinstance(s, Allocate) and s.buffer in replaced:
            return Allocate(replaced[s.buffer], s.body)
        return s

    return rewrite_stmt(root, change, lambda e: rewrite(e, change_expr, memo))


def buffers_read(s: Stmt) -> list[Buffer]:
    """Buffers that expressions below read."""
    found: dict[Buffer, None] = {}
    for x in pre_order(s):
        for e in post_order(*expressions(x)):
            if isinstance(e, Load):
                found[e.source] = None
    return list(found)
