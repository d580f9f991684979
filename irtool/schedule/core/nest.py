"""The loop nest of a block, built after its schedule is complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby, product
from typing import Any

from ...diagnostics import UsageError
from ...symbolic_int import bound
from ...tir.expr import Binary, Expr, Var, const, post_order, substitute, variables
from ...tir.stmt import (
    PARALLEL,
    UNROLLED,
    VECTORIZED,
    Allocate,
    Buffer,
    For,
    If,
    Scope,
    Stmt,
    Store,
    expressions,
    pre_order,
    seq,
    substitute_stmt,
)
from ...tir.vector_target import USUAL, VectorTarget
from .affine import depends, loads
from .block import Block
from .data_affinity import shares_inside
from .forms import Loop, Reduction
from .guards import bounded_loop
from .lower_rfactor import lower_factor
from .prefetching import PlacedPrefetch, prefetches_of
from .tile_stores import partial, transposed


def lower(b: Block[Any]) -> Stmt:
    """The nest of a block. Raises UsageError if a copy that it reads has no `compute_at`."""
    return lower_all([b])


def lower_all(parts: Sequence[Block[Any]], target: VectorTarget = USUAL) -> Stmt:
    """The nests of blocks one after the other; blocks inside of the same loops and copies share these.

    Copies in the workspace are allocated outermost, so that memory planning sees them with the kernel's buffers.
    """
    shared: list[Buffer] = []
    stmts: list[Stmt] = []
    for _, group in groupby(parts, key=lambda b: [id(x) for x in b.around]):
        blocks = list(group)
        for b in blocks:
            b.check_ready()
        around = blocks[0].around
        body = _in_groups(blocks, target, around[-1].together if around else False)
        for level in reversed(around):
            body = seq([*(lower_all(blocks, target) for _, blocks in level.fills), body])
            if level.buffer is not None and level.is_local:
                body = Allocate(level.buffer, body)
            elif level.buffer is not None:
                shared.append(level.buffer)
            if level.define is not None:
                body = level.define(body)
            for v, extent, kind in reversed(level.loops):
                body = For(v, extent, body, kind)
        stmts.append(body)
    body = seq(stmts)
    for buffer in shared:
        body = Allocate(buffer, body)
    return body


def _nest(b: Block[Any]) -> Stmt:
    """The loops of a block around its stores, or around its accumulators."""
    body = _reduction(b) if isinstance(b.form, Reduction) else seq([b.seen().store(s) for s in b.form.stores])
    outside = b.outside
    for depth in range(len(outside), -1, -1):
        caches = [c for c in b.caches if c.within == len(outside) - depth]
        if caches:
            body = seq([*(_nest(c.fill) for c in caches), body])
            for c in caches:
                body = Allocate(c.buffer, body)
        if depth:
            v, extent = outside[depth - 1]
            body = For(v, extent, body, b.kind(v))
    return body


def _in_groups(parts: Sequence[Block[Any]], target: VectorTarget, together: bool) -> Stmt:
    """The nests of blocks one after the other; neighbours with the same outermost loop share it."""
    groups = groupby(parts, key=lambda b: id(b.outside[0][0]) if b.outside else 0)
    return seq([_joined(list(group), target, together) for _, group in groups])


def _joined(parts: Sequence[Block[Any]], target: VectorTarget, together: bool) -> Stmt:
    """The nests of blocks one after the other, inside of the outermost loops that they have in common.

    Reductions share the outermost loop alone: other stages can join it. Threads then share the steps of this loop only, so it
    needs many of them, and sharing rows must not be better, unless the blocks are `together` anyway.
    """
    shared = None
    if isinstance(parts[0].form, Reduction):
        outermost = parts[0].outside[:1]
        many = 1 if together else target.joined_parts
        joined = bool(outermost) and bound(outermost[0][1]) >= many and (together or not _shares_rows(parts, target))
        shared = 1 if joined else 0
    common: list[tuple[Var, int, str]] = []
    for loops in zip(*(b.outside for b in parts)):
        v, extent = loops[0]
        if any(x is not v for x, _ in loops) or len(common) == shared or len(parts) < 2:
            break
        common.append((v, extent, parts[0].kind(v)))
    rest = [replace(b, loops=b.loops[len(common) :]) for b in parts]
    body = seq([_nest(b) for b in rest])
    for v, extent, kind in reversed(common):
        body = For(v, extent, body, kind)
    return body


def _shares_rows(parts: Sequence[Block[Any]], target: VectorTarget) -> bool:
    """True if threads should share the second loops of the blocks instead of their common outermost loop."""
    second = {b.outside[1][0] for b in parts if len(b.outside) > 1}
    if len(parts) < 2 or not second or parts[0].kind(parts[0].outside[0][0]) != PARALLEL:
        return False
    read: dict[Buffer, set[Var]] = {}
    for b in parts:
        for e in loads(b.seen()(b.form.update)):
            if isinstance(e.source, Buffer) and e.source.scope != Scope.LOCAL:
                read.setdefault(e.source, set()).update(variables(*e.indices))
    return shares_inside(read, {parts[0].outside[0][0]}, second, target)


def _reduction(b: Block[Any]) -> Stmt:
    form = b.form
    assert isinstance(form, Reduction)
    view = b.seen()
    if b.factor is not None:
        return lower_factor(b, b.result() if b.bindings else form, b.factor)
    if not b.tile:
        update: Stmt = Store(form.acc, (), view(form.update))
        for g in open_guards(b):
            update = If(const(-1) < g, update)
        for v, extent in reversed(b.inner):
            update = For(v, extent, update, b.kind(v))
        stores = [view.store(s) for s in form.stores]
        return Allocate(form.acc, seq([Store(form.acc, (), view(form.init)), update, *stores]))
    update = _updates(b, form)
    written = seq([view.store(s) for s in form.stores])
    *inside, (lane, lanes) = b.tile
    if b.transposed:
        assert isinstance(written, Store)
        valid = b.results or inside[-1][1] * lanes
        results = transposed(written, inside, lane, lanes, valid, lambda s: _tile(b, s), view.simplify)
    elif b.results:
        results = partial(written, inside, inside[-1][0], lane, lanes, b.results)
    elif b.joined:
        results = _tile(replace(b, kinds={**b.kinds, b.inside[-1][0]: VECTORIZED}), written)
    else:
        results = _tile(b, written)
    return Allocate(view.acc, seq([_tile(b, Store(view.acc, view.place, view(form.init))), update, results]))


def _tile(b: Block[Any], s: Stmt) -> Stmt:
    """The statement for each accumulator of a tile, without loops that it does not depend on."""
    used = {e for x in pre_order(s) for e in post_order(*expressions(x)) if isinstance(e, Var)}
    for v, extent in reversed(b.inside):
        if v in used or b.kind(v) == VECTORIZED:
            s = For(v, extent, s, b.kind(v))
    return s


def _updates(b: Block[Any], form: Reduction) -> Stmt:
    """The reduction's loops around the updates of a tile; updates are made only if all guards are at least 0.

    A guard on one inner loop becomes that loop's bounds. A guard that depends on the tile, or on an unrolled loop, is decided for
    each unrolled update.
    """
    view = b.seen()
    step = Store(view.acc, view.place, view(form.update))
    guards = open_guards(b)
    unrolled = [x for x in b.inner if b.kind(x[0]) == UNROLLED]
    written: set[Var] = {k for k, _ in unrolled}
    bounded: dict[Var, list[Expr]] = {}
    outside: list[Expr] = []
    each: list[Expr] = []
    for g in guards:
        moving = [k for k, _ in b.inner if depends(g, k)]
        if is_decided_in_tile(b, g) or len(moving) > 1 or written.intersection(moving):
            each.append(g)
        elif moving:
            bounded.setdefault(moving[0], []).append(g)
        else:
            outside.append(g)
    if b.window is not None:
        rows = b.tile[0]
        columns = [x for x in unrolled if x[0] is not b.window.loop[0]]
        one = b.window.written(step, rows, lambda s: _tile(b, s))
        steps = product(*(range(m) for _, m in columns))
        update = seq([substitute_stmt(one, {k: const(n) for (k, _), n in zip(columns, numbers)}) for numbers in steps])
        written.add(b.window.loop[0])
    elif unrolled or each:
        update = _written_out(b, step, each, unrolled)
    else:
        update = _tile(b, step)
    asked = prefetches_of(b)
    update = _with_prefetches(asked, len(b.inner), unrolled, update)
    for depth, (k, m) in reversed([*enumerate(b.inner)]):
        if depth + 1 < len(b.inner):
            update = _with_prefetches(asked, depth + 1, [], update)
        if k in written:
            continue
        if k in bounded:
            update = bounded_loop(view.simplify, bounded[k], k, m, update)
        else:
            update = For(k, m, update, b.kind(k))
    for g in outside:
        update = If(const(-1) < g, update)
    return update


def _with_prefetches(asked: Sequence[PlacedPrefetch], depth: int, unrolled: list[Loop], update: Stmt) -> Stmt:
    """The prefetches in the steps of the first `depth` loops, then the update; in the innermost loop, between two updates."""
    here = [p.statement for p in asked if p.depth == depth]
    steps = [
        dict(zip((k for k, _ in unrolled), map(const, numbers)))
        for numbers in product(*(range(m) for _, m in unrolled))
    ]
    every: list[Stmt] = [substitute_stmt(p, numbers) for numbers in steps for p in here]
    return seq([*every, update]) if every else update


def open_guards(b: Block[Any]) -> list[Expr]:
    """The guards of a reduction that fail in some step."""
    assert isinstance(b.form, Reduction)
    view = b.seen()
    return [g for g in map(view, b.form.guards) if view.simplify.range(g)[0] < 0]


def check_vectors(b: Block[Any]) -> None:
    """Raises UsageError if a guard of a reduction depends on the lane of a vector: all lanes are updated, or none."""
    lanes = [v for v, _ in b.tile[-1:] if b.kind(v) == VECTORIZED]
    if any(depends(g, v) for v in lanes for g in (open_guards(b) if lanes else ())):
        raise UsageError(
            f"a condition on the operand depends on {lanes[0].name}, and lanes of vectors have no conditions",
            help="pack the operand first",
        )


def is_decided_in_tile(b: Block[Any], guard: Expr) -> bool:
    """True if a guard differs between the accumulators of a tile."""
    return any(depends(guard, v) for v, _ in b.inside)


def _has_shifts(e: Expr) -> bool:
    """True if words are shifted in an expression: by how many bits is known where loops are written out."""
    return any(isinstance(x, Binary) and x.op in ("<<", ">>") for x in post_order(e))


def _written_out(b: Block[Any], step: Stmt, guards: list[Expr], unrolled: list[Loop]) -> Stmt:
    """The unrolled updates, without those that a guard excludes."""
    simplify = b.seen().simplify
    guarded_loops = [x for x in b.inside if any(depends(g, x[0]) for g in guards)]
    stmts: list[Stmt] = []
    loops = [*unrolled, *guarded_loops]
    for values in product(*(range(m) for _, m in loops)):
        here: dict[Any, Expr] = {v: const(n) for (v, _), n in zip(loops, values)}
        ranges = [(g, simplify.range(g)) for g in (simplify(substitute(g, here)) for g in guards)]
        if any(high < 0 for _, (_, high) in ranges):
            continue
        one = substitute_stmt(step, here)
        one = _tile(b, one.rewritten(simplify) if isinstance(one, Store) and _has_shifts(one.value) else one)
        for g, (low, _) in ranges:
            if low < 0:
                one = If(const(-1) < g, one)
        stmts.append(one)
    return seq(stmts)
