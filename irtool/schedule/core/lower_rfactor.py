"""The nest of a reduction in several accumulators; see `primitives.rfactor`."""

from __future__ import annotations

from collections.abc import Sequence

from ...symbolic_int import Undecided, is_known
from ...tir import dtypes
from ...tir.expr import Binary, Expr, Load, Var, cast, const, rewrite, select, substitute
from ...tir.simplify import Simplifier
from ...tir.stmt import UNROLLED, VECTORIZED, Allocate, Buffer, For, If, Scope, Stmt, Store, seq, substitute_stmt
from ..cost.machine import TOGETHER
from .affine import depends, simplifier
from .block import Block, Factor
from .forms import Loop, Reduction
from .guards import bounded_loop
from .horizontal_reduce import horizontal_reduce
from .reassociation import EXTREMES, IDENTITIES


def lower_factor(b: Block[Reduction], form: Reduction, f: Factor) -> Stmt:
    """The reduction of a block in the vectors of its `Factor`: full iterations, then the remaining vectors, then the remaining
    steps."""
    assert isinstance(form.update, Binary)
    lane = Var(f"{f.loop.name}_v")
    parts = Buffer(f"{form.acc.name}_v", (max(f.vectors, f.together), f.lanes), form.acc.dtype, Scope.REGISTER)
    vectors = _vectors(b, form, f, parts, lane)
    if f.along is not None:
        return _side_by_side(b, form, f, vectors, parts, lane)
    whole = Allocate(parts, seq([vectors, _combine(form, form.update.op, parts, lane)]))
    rest = _one_by_one(b, form, f)
    return Allocate(form.acc, seq([Store(form.acc, (), form.init), whole, *rest, *form.stores]))


def _one_by_one(b: Block[Reduction], form: Reduction, f: Factor) -> list[Stmt]:
    """The steps behind the last full vector, if only the run knows whether a vector that overlaps it begins at the first step."""
    extent = b.find(f.loop)[1]
    if is_known(extent) or extent % f.lanes == 0:
        return []
    step = Var(f"{f.loop.name}_r")
    others = [x for x in b.inner if x[0] is not f.loop]
    first, count = extent // f.lanes * f.lanes, extent % f.lanes
    simplify = simplifier((*b.loops, *others, (step, count)))
    body: Stmt = Store(form.acc, (), simplify(substitute(form.update, {f.loop: step + first})))
    return [_around(form, [*others, (step, count)], body, simplify)]


def _around(form: Reduction, loops: Sequence[Loop], body: Stmt, simplify: Simplifier) -> Stmt:
    """The loops over the steps for which the guards hold."""
    for x, n in reversed(loops):
        bounds = [g for g in form.guards if depends(g, x)]
        body = bounded_loop(simplify, bounds, x, n, body) if bounds else For(x, n, body)
    for g in form.guards:
        if not any(depends(g, x) for x, _ in loops):
            body = If(const(-1) < g, body)
    return body


def _vectors(b: Block[Reduction], form: Reduction, f: Factor, parts: Buffer, lane: Var) -> Stmt:
    """The steps of one result in several vectors of accumulators, or those of several results in one vector each."""
    assert isinstance(form.update, Binary)
    op, source = form.update.op, form.update.b
    extent = b.find(f.loop)[1]
    tiles, rest = divmod(extent // f.lanes, f.vectors)
    tile, part = (Var(f"{f.loop.name}_{s}") for s in "ot")
    others = [x for x in b.inner if x[0] is not f.loop]
    row = Var("row")
    loops = [(x, n // f.together if x is f.along else n) for x, n in b.loops]
    simplify = simplifier((*loops, *others, (lane, f.lanes), (tile, tiles), (part, f.vectors), (row, f.together)))
    turn = part if f.vectors > 1 else const(0)
    group: dict[Expr, Expr] = {} if f.along is None or f.together == 1 else {f.along: f.along * f.together + row}
    here: tuple[Expr, ...] = (row if group else turn, lane)

    def value(index: Expr) -> Expr:
        return simplify(substitute(source, {f.loop: index, **group}))

    def of_rows(s: Stmt) -> Stmt:
        return For(row, f.together, s, UNROLLED) if group else s

    def step(e: Expr, place: tuple[Expr, ...]) -> Store:
        return Store(parts, place, Binary(op, Load(parts, place), e, form.acc.dtype))

    first = form.init if op in EXTREMES else const(IDENTITIES[op], form.acc.dtype)
    init: Stmt = of_rows(For(lane, f.lanes, Store(parts, here, first), VECTORIZED))
    main: Stmt = of_rows(For(lane, f.lanes, step(value((tile * f.vectors + turn) * f.lanes + lane), here), VECTORIZED))
    if f.vectors > 1:
        init = For(part, f.vectors, init, UNROLLED)
        main = For(part, f.vectors, main, UNROLLED)
    body: list[Stmt] = [For(tile, tiles, main) if tiles != 1 else substitute_stmt(main, {tile: const(0)})]
    if not is_known(rest):
        several = Var(f"{f.loop.name}_t")
        element = lane + (tiles * f.vectors + several) * f.lanes
        place = here if group else (const(0), lane)
        body.append(For(several, rest, of_rows(For(lane, f.lanes, step(value(element), place), VECTORIZED))))
        rest = 0
    for n in range(rest):
        element = lane + (tiles * f.vectors + n) * f.lanes
        place = here if group else (const(n % f.vectors), lane)
        body.append(of_rows(For(lane, f.lanes, step(value(element), place), VECTORIZED)))
    if extent % f.lanes != 0 and is_known(extent):
        last = value(lane + (extent - f.lanes))
        if op not in EXTREMES:  # the first lanes have these steps already
            number = cast(lane, f"uint{dtypes.bits(form.acc.dtype)}") if dtypes.itemsize(form.acc.dtype) < 4 else lane
            last = select(number < f.lanes - extent % f.lanes, first, last)
        place = here if group else (const(rest % f.vectors), lane)
        body.append(of_rows(For(lane, f.lanes, step(last, place), VECTORIZED)))
    return seq([init, _around(form, others, seq(body), simplify)])


def _all_of(op: str, parts: Buffer, lane: Var) -> Expr:
    """One lane of all vectors, combined."""
    total: Expr = Load(parts, (const(0), lane))
    for n in range(1, parts.shape[0]):
        total = Binary(op, total, Load(parts, (const(n), lane)), parts.dtype)
    return total


def _combine(form: Reduction, op: str, parts: Buffer, lane: Var) -> Stmt:
    """The accumulators combined: the vectors, then their lanes."""
    dtype = form.acc.dtype

    def both(x: Expr, y: Expr) -> Expr:
        return Binary(op, x, y, dtype)

    name = form.acc.name
    array, steps = horizontal_reduce(name, dtype, (lane, parts.shape[1]), _all_of(op, parts, lane), both)
    return Allocate(array, seq([*steps, Store(form.acc, (), both(Load(form.acc, ()), Load(array, (const(0),))))]))


def _side_by_side(b: Block[Reduction], form: Reduction, f: Factor, vectors: Stmt, parts: Buffer, lane: Var) -> Stmt:
    """As many results as a vector has lanes: their accumulators are transposed, so that all are combined in vectors."""
    along = f.along
    assert isinstance(form.update, Binary) and along is not None
    if b.find(f.loop)[1] % f.lanes != 0 and not is_known(b.find(f.loop)[1]):
        raise Undecided(f"{b.find(f.loop)[1]} steps in vectors of {f.lanes}")
    op, dtype, size = form.update.op, form.acc.dtype, f.lanes
    sums, transposed = (Buffer(f"{form.acc.name}_{s}", (size, size), dtype, Scope.LOCAL) for s in ("rows", "turned"))
    if f.together > 1:
        one = Var("row")
        store = Store(sums, (along * f.together + one, lane), Load(parts, (one, lane)))
        combined: Stmt = For(one, f.together, For(lane, size, store, VECTORIZED), UNROLLED)
    else:
        combined = For(lane, size, Store(sums, (along, lane), _all_of(op, parts, lane)), VECTORIZED)
    each = For(along, size // f.together, Allocate(parts, seq([vectors, combined])))
    x, row = Var("lane"), Var(along.name)
    turn = For(x, size, For(row, size, Store(transposed, (x, row), Load(sums, (row, x))), VECTORIZED))
    result_lane, part, row = Var("lane"), Var("part"), Var(along.name)
    several = Buffer(f"{form.acc.name}_s", (min(TOGETHER, size), size), dtype, Scope.REGISTER)
    count = several.shape[0]
    simplify = simplifier((*b.loops, (row, size)))
    first = Store(several, (part, row), form.init if op in EXTREMES else const(IDENTITIES[op], dtype))
    more = Store(
        several, (part, row), Binary(op, Load(several, (part, row)), transposed[result_lane * count + part, row], dtype)
    )
    folded = [For(part, count, For(row, size, s, VECTORIZED), UNROLLED) for s in (first, more)]
    results = Buffer(form.acc.name, (size,), dtype, Scope.REGISTER)
    whole = simplify(Binary(op, form.init, _all_of(op, several, row), dtype))
    total = For(row, size, Store(results, (row,), whole), VECTORIZED)

    def change(e: Expr) -> Expr:
        return Load(results, (row,)) if isinstance(e, Load) and e.source is form.acc else e

    def of_row(e: Expr) -> Expr:
        return simplify(rewrite(e, change, {along: row}))

    stores = [s.rewritten(of_row) for s in form.stores]
    stored = [total, For(row, size, seq(stores), VECTORIZED)]
    sides = Allocate(several, Allocate(results, seq([folded[0], For(result_lane, size // count, folded[1]), *stored])))
    return Allocate(sums, Allocate(transposed, seq([each, turn, sides])))
