"""Fusion of stages over the same rows into one loop over the rows.

    for i: m[i] = max(x[i, :])                 for i:
    for i: e[i, :] = exp(x[i, :] - m[i])   ⇒     m' = max(x[i, :]); e'[:] = exp(x[i, :] - m')
    for i: s[i] = sum(e[i, :])                   s' = sum(e'[:]);   y[i, :] = e'[:] / s'
    for i: y[i, :] = e[i, :] / s[i]

Two loops become one if no step of either accesses elements that another step of the other one writes: each step has a part of its
own of every buffer that one of them writes. Elements that are written and read within a step need memory for one step only, and
stay in the L1 cache.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence

from ...symbolic_int import bound, holds
from ...tir import dtypes
from ...tir.expr import Const, Expr, Load, Var, post_order, rewrite, variables
from ...tir.forms import statements
from ...tir.kernel import Kernel
from ...tir.simplify import Simplifier
from ...tir.stmt import (
    PARALLEL,
    SERIAL,
    UNROLLED,
    Allocate,
    Buffer,
    For,
    If,
    Let,
    Scope,
    Seq,
    Stmt,
    Store,
    While,
    expressions,
    pre_order,
    rewrite_stmt,
    seq,
    substitute_stmt,
)
from ...tir.vector_target import VectorTarget
from ..core.data_affinity import shares_inside

Access = tuple[Buffer, Expr, bool]
"""A buffer, the offset of an element in it, and True for a write."""


def fuse_row_loops(kernel: Kernel, target: VectorTarget) -> Kernel:
    """The kernel with the loops over rows of its stages fused."""
    nests, temporaries = fuse_stages(kernel.nests, kernel.temporaries, kernel.same_memory, target)
    return kernel.replace(nests=nests, temporaries=temporaries)


def fuse_stages(
    stages: Sequence[Stmt], temporaries: Iterable[Buffer], same: Sequence[tuple[Buffer, Buffer]], target: VectorTarget
) -> tuple[list[Stmt], list[Buffer]]:
    """The scheduled stages with their loops over rows fused, and the temporaries that still need memory.

    `same`: pairs of buffers that may share memory.
    """
    units = [u for s in stages for u in statements(s)]
    alias = {b: a for a, b in same}
    if len(units) < 2:
        return [_with_rows_joined(u, alias) for u in units], list(temporaries)
    stmts: list[Stmt] = []
    group: list[For] = []
    seen: list[list[Access]] = []
    for u in [*units, None]:
        accesses = _accesses(u, alias) if isinstance(u, For) else []
        if (
            isinstance(u, For)
            and group
            and _independent(group, seen, u, accesses)
            and not _are_for_threads([*group, u], [*seen, accesses], target)
        ):
            group.append(u)
            seen.append(accesses)
            continue
        if group:
            stmts.append(_with_rows_joined(_joined(group, target), alias))
        group, seen = [], []
        if isinstance(u, For) and isinstance(u.extent, Const) and _is_row_loop(u):
            group, seen = [u], [accesses]
        elif u is not None:
            stmts.append(u)
    local_buffers: list[Buffer] = []
    users: dict[Buffer, list[int]] = {}
    for n, u in enumerate(stmts):
        for b in dict.fromkeys(b for b, _, _ in _accesses(u, {})):
            users.setdefault(b, []).append(n)
    for b in temporaries:
        within = users.get(b, [])
        part = _part(stmts[within[0]], b) if len(within) == 1 else 0
        if part and part * dtypes.itemsize(b.dtype) <= target.scratch_bytes:
            stmts[within[0]] = _with_row(stmts[within[0]], b, part)
        else:
            local_buffers.append(b)
    return stmts, local_buffers


def _accesses(s: Stmt, alias: dict[Buffer, Buffer]) -> list[Access]:
    accesses: list[Access] = []
    for x in pre_order(s):
        if isinstance(x, Store) and x.buffer.scope in (Scope.GLOBAL, Scope.PARAM):
            accesses.append((alias.get(x.buffer, x.buffer), x.buffer.offset(x.indices), True))
        for e in post_order(*expressions(x)):
            if isinstance(e, Load) and isinstance(e.source, Buffer) and e.source.scope in (Scope.GLOBAL, Scope.PARAM):
                accesses.append((alias.get(e.source, e.source), e.source.offset(e.indices), False))
    return accesses


def _is_row_loop(s: For) -> bool:
    """True for a serial or parallel loop without parallel loops inside, which would not be shared in a fused one."""
    return s.kind in (PARALLEL, SERIAL) and not any(
        isinstance(x, For) and x.kind == PARALLEL for x in pre_order(s.body)
    )


def _bounds(s: Stmt) -> Simplifier:
    return Simplifier({x.var: _range(x) for x in pre_order(s) if isinstance(x, For)})


def _range(loop: For) -> tuple[float, float]:
    if isinstance(loop.extent, Const):
        return 0, loop.extent.int_value - 1
    return 0, float("inf")


def _independent(group: Sequence[For], seen: Sequence[Sequence[Access]], new: For, accesses: Sequence[Access]) -> bool:
    if not isinstance(new.extent, Const) or new.extent.value != group[0].steps:
        return False
    if not _is_row_loop(new):
        return False
    before = [a for s in seen for a in s]
    written = {b for b, _, w in before if w} & {b for b, _, _ in accesses}
    written |= {b for b, _, w in accesses if w} & {b for b, _, _ in before}
    if not written:
        return bool({b for b, _, _ in accesses} & {b for b, _, _ in before})
    for b in written:
        steps = {_own_part(loop, [i for x, i, _ in own_accesses if x is b]) for loop, own_accesses in zip(group, seen)}
        steps |= {_own_part(new, [i for x, i, _ in accesses if x is b])}
        steps.discard(-1)
        if len(steps) != 1 or 0 in steps:
            return False
    return True


def _are_for_threads(loops: Sequence[For], accesses: Sequence[Sequence[Access]], target: VectorTarget) -> bool:
    """True for parallel loops around loops that threads could share as well, if a fused loop would not suit threads.

    The loops pass each other no results; a fused loop would have few steps, such as 3 for 2 threads, or steps that all read much
    of what other threads wrote.
    """
    if any(x.kind != PARALLEL for x in loops):
        return False
    inside = [x.body for x in loops if isinstance(x.body, For) and x.body.kind == SERIAL]
    read = {b for loop_accesses in accesses for b, _, writes in loop_accesses if not writes}
    if not inside or any(b in read for loop_accesses in accesses for b, _, writes in loop_accesses if writes):
        return False
    positions: dict[Buffer, set[Var]] = {}
    for loop_accesses in accesses:
        for b, place, writes in loop_accesses:
            if not writes:
                positions.setdefault(b, set()).update(variables(place))
    few = bound(loops[0].steps) < target.joined_parts
    return few or shares_inside(positions, {x.var for x in loops}, {x.var for x in inside}, target)


def _own_part(loop: For, indices: Sequence[Expr]) -> int:
    """The elements of a part of a buffer, if step n of the loop accesses the n-th part only; -1 without accesses, otherwise 0."""
    if not indices:
        return -1
    simplify = _bounds(loop)
    own_step = 0
    for i in indices:
        terms, _ = simplify.linear(i)
        step = terms.get(loop.var, 0)
        if not holds(operator.ge, step, 1) or (own_step and step != own_step):
            return 0
        own_step = step
        rest = simplify(i - loop.var * step)
        low, high = simplify.range(rest)
        if not (holds(operator.ge, low, 0) and holds(operator.lt, high, step)) or any(
            x is loop.var for x in post_order(rest)
        ):
            return 0
    return own_step


def _part(s: Stmt, b: Buffer) -> int:
    """The size of the part of a buffer that each step of a loop has for itself; 0 if steps share it, or read it before they write
    it."""
    if not isinstance(s, For):
        return 0
    mine = [(i, w) for x, i, w in _accesses(s, {}) if x is b]
    if not mine or not mine[0][1]:
        return 0
    part = _own_part(s, [i for i, _ in mine])
    return 0 if part == -1 else part


def _joined(group: Sequence[For], target: VectorTarget) -> Stmt:
    """One loop, in which each stage computes a few rows before the next one does, if enough steps remain for threads to share."""
    if len(group) == 1:
        return group[0]
    extent = group[0].steps
    touched = {b for g in group for b, _, _ in _accesses(g, {}) if b.scope == Scope.PARAM}
    most = target.interleaved_rows if sum(bound(b.nbytes) for b in touched) <= target.streamed_bytes else 1
    several = next(
        n for n in (most, 2, 1) if n == 1 or (n <= most and extent % n == 0 and bound(extent) // n >= target.most_parts)
    )
    row, step = Var(group[0].var.name), Var("row")
    bodies: list[Stmt] = []
    for g in group:
        if several == 1:
            bodies.append(substitute_stmt(g.body, {g.var: row}))
        else:
            bodies.append(_inside(substitute_stmt(g.body, {g.var: row * several + step}), step, several))
    kind = PARALLEL if any(g.kind == PARALLEL for g in group) else SERIAL
    return For(row, extent // several, seq(bodies), kind)


def _with_rows_joined(outer: Stmt, alias: dict[Buffer, Buffer]) -> Stmt:
    """The loop with one loop inside, in place of several over the same rows that pass each other no results.

    Such loops compute the first column of an image, the last one and all others; threads can share the rows then.
    """
    if not isinstance(outer, For) or not isinstance(outer.body, Seq):
        return outer
    loops = [s for s in outer.body.stmts if isinstance(s, For) and s.kind == SERIAL and isinstance(s.extent, Const)]
    if len(loops) < len(outer.body.stmts) or len({s.steps for s in loops}) > 1 or bound(loops[0].steps) < 2:
        return outer
    accesses_of = [_accesses(s, alias) for s in loops]
    read = {b for accesses in accesses_of for b, _, writes in accesses if not writes}
    if any(b in read for accesses in accesses_of for b, _, writes in accesses if writes):
        return outer
    moved = _without(outer, accesses_of)
    if moved is None or not all(_independent(loops[:n], moved[:n], loops[n], moved[n]) for n in range(1, len(loops))):
        return outer
    row = Var(loops[0].var.name)
    body = seq([substitute_stmt(s.body, {s.var: row}) for s in loops])
    return For(outer.var, outer.extent, For(row, loops[0].extent, body), outer.kind)


def _without(outer: For, accesses_of: Sequence[Sequence[Access]]) -> list[list[Access]] | None:
    """The accesses in the first step of a loop; None if the writes to a buffer have no common stride along the loop."""
    simplify, var = _bounds(outer), outer.var
    distances: dict[Buffer, int] = {}
    moved: list[list[Access]] = []
    for accesses in accesses_of:
        moved.append([])
        for b, place, writes in accesses:
            if writes:
                distance = simplify.linear(place)[0].get(var, 0)
                place = simplify(place - var * distance)
                if distances.setdefault(b, distance) != distance or any(x is var for x in post_order(place)):
                    return None
            moved[-1].append((b, place, writes))
    return moved


def _inside(body: Stmt, step: Var, several: int) -> Stmt:
    """A loop over a few rows around the statements for one row, or around its innermost vectors, so that rows share common
    operands."""
    if any(isinstance(s, Allocate | Let | If | While) for s in pre_order(body)):
        return For(step, several, body)
    if isinstance(body, Seq):
        return seq([_inside(s, step, several) for s in body.stmts])
    if isinstance(body, For) and body.kind == SERIAL:
        return For(body.var, body.extent, _inside(body.body, step, several))
    own = Var(step.name)
    return For(own, several, substitute_stmt(body, {step: own}), UNROLLED)


def _with_row(s: Stmt, b: Buffer, part: int) -> Stmt:
    """The loop with a local row for each step in place of the buffer."""
    assert isinstance(s, For)
    simplify = _bounds(s)
    row = b.replace(shape=(part,), scope=Scope.LOCAL)
    memo: dict[Expr, Expr] = {}

    def place(indices: Sequence[Expr]) -> Expr:
        return simplify(b.offset(indices) - s.var * part)

    def change_expr(e: Expr) -> Expr:
        return Load(row, (place(e.indices),)) if isinstance(e, Load) and e.source is b else e

    def change(x: Stmt) -> Stmt:
        return Store(row, (place(x.indices),), x.value) if isinstance(x, Store) and x.buffer is b else x

    body = rewrite_stmt(s.body, change, lambda e: rewrite(e, change_expr, memo))
    return For(s.var, s.extent, Allocate(row, body), s.kind)
