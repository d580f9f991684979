"""The nest of a reduction in several accumulators; see `primitives.rfactor`."""

from __future__ import annotations

from ..tir.expr import Binary, Expr, Load, Var, const, rewrite
from ..tir.stmt import UNROLLED, VECTORIZED, Allocate, Buffer, For, If, Scope, Stmt, Store, seq, substitute_stmt
from .affine import depends, simplifier
from .block import Block, Factor
from .forms import Reduction
from .guards import bounded_loop


def lower_factor(b: Block[Reduction], form: Reduction, f: Factor) -> Stmt:
    """The reduction of a block, in the vectors of its `Factor`: whole iterations, vectors that are left, single steps that are left."""
    assert isinstance(form.update, Binary)
    op, source = form.update.op, form.update.b
    extent = b.find(f.loop)[1]
    tiles, rest = divmod(extent // f.lanes, f.vectors)
    left = extent % f.lanes
    lane, tile, part = (Var(f"{f.loop.name}_{s}") for s in "vot")
    parts = Buffer(f"{form.acc.name}_v", (f.vectors, f.lanes), form.acc.dtype, Scope.REGISTER)
    others = [x for x in b.inner if x[0] is not f.loop]
    known = (*b.loops, *others, (lane, f.lanes), (tile, tiles), (part, f.vectors))
    simplify = simplifier(known)
    here: tuple[Expr, ...] = (part if f.vectors > 1 else const(0), lane)

    def step(index: Expr, place: tuple[Expr, ...]) -> Store:
        value = simplify(rewrite(source, lambda e: e, {f.loop: index}))
        return Store(parts, place, Binary(op, Load(parts, place), value, form.acc.dtype))

    init: Stmt = For(lane, f.lanes, Store(parts, here, form.init), VECTORIZED)
    main: Stmt = For(lane, f.lanes, step((tile * f.vectors + here[0]) * f.lanes + lane, here), VECTORIZED)
    if f.vectors > 1:
        init = For(part, f.vectors, init, UNROLLED)
        main = For(part, f.vectors, main, UNROLLED)
    body: list[Stmt] = [For(tile, tiles, main) if tiles > 1 else substitute_stmt(main, {tile: const(0)})]
    for n in range(rest):
        index = lane + (tiles * f.vectors + n) * f.lanes
        body.append(For(lane, f.lanes, step(index, (const(n % f.vectors), lane)), VECTORIZED))
    if left:
        k = Var(f"{f.loop.name}_l")
        simplify.bind(k, 0, left - 1)
        value = simplify(rewrite(source, lambda e: e, {f.loop: k + (extent - left)}))
        body.append(For(k, left, Store(form.acc, (), Binary(op, Load(form.acc, ()), value, form.acc.dtype))))
    inner: Stmt = seq(body)
    for x, n in reversed(others):
        bounds = [g for g in form.guards if depends(g, x)]
        inner = bounded_loop(simplify, bounds, x, n, inner) if bounds else For(x, n, inner)
    for g in form.guards:
        if not any(depends(g, x) for x, _ in others):
            inner = If(const(-1) < g, inner)
    vectors = Allocate(parts, seq([init, inner, _combine(form, op, parts, lane)]))
    return Allocate(form.acc, seq([Store(form.acc, (), form.init), vectors, *form.stores]))


def _combine(form: Reduction, op: str, parts: Buffer, lane: Var) -> Stmt:
    """The accumulators combined: the vectors, then by way of an array halves of the lanes, down to one."""
    several, lanes = parts.shape
    dtype = form.acc.dtype
    array = Buffer(f"{form.acc.name}_lanes", (lanes,), dtype, Scope.LOCAL)
    total: Expr = Load(parts, (const(0), lane))
    for n in range(1, several):
        total = Binary(op, total, Load(parts, (const(n), lane)), dtype)
    steps: list[Stmt] = [For(lane, lanes, Store(array, (lane,), total), VECTORIZED)]
    half = lanes // 2
    while half > 1:
        x = Var("lane")
        folded = Binary(op, Load(array, (x,)), Load(array, (x + half,)), dtype)
        steps.append(For(x, half, Store(array, (x,), folded)))
        half //= 2
    if half:
        folded = Binary(op, Load(array, (const(0),)), Load(array, (const(1),)), dtype)
        steps.append(Store(array, (const(0),), folded))
    final = Binary(op, Load(form.acc, ()), Load(array, (const(0),)), dtype)
    return Allocate(array, seq([*steps, Store(form.acc, (), final)]))
