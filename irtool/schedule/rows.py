"""Reductions along the contiguous axis: sums, means and extremes of rows.

    for i: acc = 0; for k: acc += x[i, k]      ⇒      for i: acc[lanes] = 0; for k_o: acc[:] += x[i, k_o*lanes + :];
                                                             combined over the lanes; the elements left over one by one

Several vectors are accumulated at once, so that one addition need not wait for the one before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..tir import dtypes
from ..tir.expr import Binary, Expr, Load, Var, const, post_order, rewrite
from ..tir.simplify import Simplifier
from ..tir.stmt import PARALLEL, SERIAL, UNROLLED, VECTORIZED, Allocate, Buffer, For, If, Stmt, Store, seq
from .affine import depends, loads, stride
from .axes import fuse_sums
from .guards import bounded_loop
from .machine import Machine
from .forms import Map, Reduction

_PARALLEL_WORK = 1 << 15
_EXTREMES = ("min", "max", "minimum", "maximum")
_COMBINED = ("+", "*", *_EXTREMES)


def applies(r: Reduction, machine: Machine) -> int | None:
    """The number of the inner loop to vectorize; None where there is none."""
    lanes = machine.lanes_of(r.acc.dtype)
    update = r.update
    if lanes < 4 or not dtypes.is_float(r.acc.dtype) or not isinstance(update, Binary):
        return None
    if dtypes.bits(r.acc.dtype) < 32 and update.op not in _EXTREMES:  # sums rounded so often depend on their order
        return None
    if update.op not in _COMBINED or not isinstance(update.a, Load) or update.a.source is not r.acc:
        return None
    if any(isinstance(e, Load) and e.source is r.acc for e in post_order(update.b)):
        return None
    if any(sum(depends(g, k) for k, _ in r.inner) > 1 for g in r.guards):
        return None
    simplify = Simplifier({v: (0, n - 1) for v, n in (*r.loops, *r.inner)})
    for n in range(len(r.inner) - 1, -1, -1):
        v, extent = r.inner[n]
        moving = {e: stride(simplify, e.source.offset(e.indices), v) for e in loads(update.b)}
        if any(depends(g, v) for g in r.guards) or extent < _width(extent, lanes):
            continue
        if 1 not in moving.values() or any(s not in (0, 1) for s in moving.values()):
            continue
        # Short rows that overlap, or are read many times, are not worth it.
        if extent >= lanes or all(e.source.size >= r.work for e, s in moving.items() if s):
            return n
    return None


def _width(extent: int, lanes: int) -> int:
    """Lanes for a row: those of the processor's vectors, or fewer for a short one."""
    while lanes > 4 and extent < lanes:
        lanes //= 2
    return lanes


def row_count(forms: Sequence[Map | Reduction | None], machine: Machine) -> int:
    """Into how many rows the work of a kernel's stages falls: those of its sums of rows, which are as many in all of them.

    -1 if there is no sum, 0 where sums are of another kind or there is work that is neither.
    """
    found = set()
    for f in forms:
        if f is None or (isinstance(f, Reduction) and applies(fuse_sums(f), machine) is None):
            return 0
        if isinstance(f, Reduction):
            found.add(math.prod(n for _, n in f.loops))
    return -1 if not found else found.pop() if len(found) == 1 else 0


def schedule(r: Reduction, at: int, machine: Machine) -> Stmt:
    """The nest with inner loop number `at` in vectors."""
    v, extent = r.inner[at]
    lanes = _width(extent, machine.lanes_of(r.acc.dtype))
    whole = extent // lanes
    several = next(n for n in (4, 2, 1) if whole >= n)
    tiles, rest = divmod(whole, several)
    assert isinstance(r.update, Binary)
    lane, tile, part = Var(f"{v.name}_v"), Var(f"{v.name}_o"), Var(f"{v.name}_t")
    acc = Buffer(f"{r.acc.name}_v", (several, lanes), r.acc.dtype, "register")
    others = [loop for n, loop in enumerate(r.inner) if n != at]
    simplify = Simplifier(
        {x: (0, n - 1) for x, n in (*r.loops, *others, (lane, lanes), (tile, tiles), (part, several))}
    )

    def step(index: Expr, place: tuple[Expr, ...]) -> Store:
        source = simplify(rewrite(r.update.b, lambda e: e, {v: index}))  # type: ignore[attr-defined]
        made = Binary(r.update.op, Load(acc, place), source, r.acc.dtype)  # type: ignore[attr-defined]
        return Store(acc, place, made)

    here: tuple[Expr, ...] = (part if several > 1 else const(0), lane)
    init: Stmt = For(lane, lanes, Store(acc, here, r.init), VECTORIZED)
    main: Stmt = For(lane, lanes, step((tile * several + here[0]) * lanes + lane, here), VECTORIZED)
    if several > 1:
        init = For(part, several, init, UNROLLED)
        main = For(part, several, main, UNROLLED)
    body: list[Stmt] = [For(tile, tiles, main) if tiles > 1 else _with(main, tile)]
    for n in range(rest):
        body.append(
            For(lane, lanes, step(lane + (tiles * several + n) * lanes, (const(n % several), lane)), VECTORIZED)
        )
    left = extent - whole * lanes
    scalar_place = Load(r.acc, ())
    if left:
        k = Var(f"{v.name}_l")
        simplify.bind(k, 0, left - 1)
        source = simplify(rewrite(r.update.b, lambda e: e, {v: k + whole * lanes}))
        body.append(For(k, left, Store(r.acc, (), Binary(r.update.op, scalar_place, source, r.acc.dtype))))
    inner: Stmt = seq(body)
    for x, n in reversed(others):
        bounds = [g for g in r.guards if depends(g, x)]
        if bounds:
            inner = bounded_loop(simplify, bounds, x, n, inner)
        else:
            inner = For(x, n, inner)
    for g in r.guards:
        if not any(depends(g, x) for x, _ in others):
            inner = If(const(-1) < g, inner)
    # The lanes are combined one by one, from an array.
    array = Buffer(f"{r.acc.name}_lanes", (lanes,), r.acc.dtype, "local")
    total: Expr = Load(acc, (const(0), lane))
    for n in range(1, several):
        total = Binary(r.update.op, total, Load(acc, (const(n), lane)), r.acc.dtype)
    spill = For(lane, lanes, Store(array, (lane,), total), VECTORIZED)
    half = lanes
    folds: list[Stmt] = []
    while half > 1:
        half //= 2
        x = Var("lane")
        folded = Binary(r.update.op, Load(array, (x,)), Load(array, (x + half,)), r.acc.dtype)
        folds.append(
            For(x, half, Store(array, (x,), folded))
            if half > 1
            else Store(
                array, (const(0),), Binary(r.update.op, Load(array, (const(0),)), Load(array, (const(1),)), r.acc.dtype)
            )
        )
    final = Store(r.acc, (), Binary(r.update.op, scalar_place, Load(array, (const(0),)), r.acc.dtype))
    combine = Allocate(array, seq([spill, *folds, final]))
    nest: Stmt = seq([Store(r.acc, (), r.init), Allocate(acc, seq([init, inner, combine])), *r.stores])
    nest = Allocate(r.acc, nest)
    for n, (x, size) in reversed(list(enumerate(r.loops))):
        nest = For(x, size, nest, PARALLEL if n == 0 and r.work >= _PARALLEL_WORK else SERIAL)
    return nest


def _with(s: Stmt, v: Var) -> Stmt:
    from ..tir.stmt import substitute_stmt

    return substitute_stmt(s, {v: const(0)})
