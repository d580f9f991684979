"""`pack`: a copy of an operand in the order in which vectors read it."""

from __future__ import annotations

from dataclasses import replace

from ...diagnostics import UsageError
from ...tir.expr import Expr, Load, Var, substitution
from ...tir.memory import KERNEL_SCRATCH
from ...tir.stmt import Buffer, Scope
from ...tir.windows import renamed_taps
from ..core.affine import depends, simplifier
from ..core.block import Block, Level, Pending
from ..core.forms import Form, Reduction
from ..core.packing import Packing, find_limits
from .base import primitive
from .operands import find_operand, operand_name

_SCOPES = (str(Scope.LOCAL), str(Scope.GLOBAL))


@primitive
def pack(
    b: Block[Form], operand: Load | str, along: Var | str, lanes: int, name: str = "packed", scope: str = "local"
) -> Block[Form]:
    """Copies an operand of a reduction into the order in which vectors of `lanes` elements along a loop read it.

    ::

        for x in 30: for k in 3: acc += x[2*x + k - 1] * w[k]    ⇒    for p in 2: for col in 33:
          (where that exists)                                           packed[p, col] = x[2*col + p - 1] where that exists, else 0
                                                                      for x in 30: for k in 3: acc += packed[k % 2, x + k // 2] * w[k]

    Packing as in BLIS; in Halide and TVM, a `cache_read` in another layout. Along the loop the copy is contiguous, whatever the
    operand's stride, and has full vectors: zeros (or another value that changes nothing) follow the last element, and take the
    place of elements that a condition excludes. `compute_at` places the copy, and thereby decides which part of the operand it
    has; `name` (for a strided operand `name_0`, `name_1` …) then is a block with loops of its own. `scope` is `local`, on the
    stack, or `global`, in the kernel's workspace.

    Raises UsageError for a block without a reduction, for an operand that is read at several places under one name, and for a
    blocked layout.
    """
    b.check_placed()
    b.check_loops_only("pack")
    if not isinstance(b.form, Reduction):
        raise UsageError("nothing is reduced", help="cache_read copies operands of elementwise stages")
    if scope not in _SCOPES or lanes < 1:
        raise UsageError(f"a copy is {' or '.join(_SCOPES)}, in vectors of at least 1 element")
    load = operand if isinstance(operand, Load) else find_operand(b.form, operand)
    called = operand_name(b.form, load)
    if load.source.layout is not None:
        raise UsageError(f"{load.source.name} is stored in blocks already")
    v = b.find(along)[0]

    def place(outer: Block[Reduction], depth: int) -> Block[Reduction]:
        return _placed(outer, depth, find_operand(outer.form, called), v, lanes, name, scope)

    return replace(b.with_guards(formed=True), pending=Pending(name, place))


def _placed(
    b: Block[Reduction], depth: int, operand: Load, v: Var, lanes: int, name: str, scope: str
) -> Block[Reduction]:
    around, inside = b.loops[:depth], b.loops[depth:]
    extents = dict((*inside, *b.inner))
    if not any(v is x for x, _ in inside):
        raise UsageError(f"{v.name} is not inside of the copy")
    known = simplifier(b.form.loops, b.form.inner)
    limits = find_limits(b.form, operand, known)
    view = b.seen()
    if limits is None or any(depends(view(g), v) for g in limits.other_guards):
        raise UsageError(f"a condition on {operand.source.name} is no bound of its indices")
    packing = Packing.of([view(i) for i in operand.indices], limits, extents, v, lanes, view.simplify)
    buffer = Buffer(name, packing.shape, operand.dtype, Scope(scope))
    if buffer.scope == Scope.LOCAL and buffer.nbytes > KERNEL_SCRATCH:
        raise UsageError(
            f"{name} would take {buffer.nbytes} bytes of the stack", help='scope="global", or compute_at a loop'
        )
    fills = [Block.of(packing.fill(operand, buffer, around, phase)) for phase in range(packing.step)]
    names = [name] if len(fills) == 1 else [f"{name}_{n}" for n in range(len(fills))]
    level = Level(tuple((x, n, b.kind(x)) for x, n in around), buffer, tuple((n, (f,)) for n, f in zip(names, fills)))
    simplify = simplifier(inside, b.inner)
    values = substitution({**b.values(inside), operand: Load(buffer, packing.place(simplify))})

    def change(e: Expr) -> Expr:
        return simplify(values(e))

    r = b.form
    stores = tuple(s.rewritten(change) for s in r.stores)
    guards = tuple(change(g) for g in limits.other_guards)
    windows = renamed_taps(r.windows, b.values(inside), b.inner)
    reader = Reduction(inside, r.acc, change(r.init), b.inner, change(r.update), stores, guards, windows=windows)
    return b.placed(reader, level, inside)
