"""`separate`: the rows of windows combined before their columns."""

from __future__ import annotations

from dataclasses import replace

from ...diagnostics import UsageError
from ...tir.expr import Var
from ...tir.memory import KERNEL_SCRATCH
from ...tir.stmt import Buffer, Scope
from ..core.block import Block, Level, Pending
from ..core.forms import Form, Reduction
from ..core.guards import extract_predicates
from ..windows.separable import ReducedWindows, find_windows
from .base import primitive


@primitive
def separate(b: Block[Form], along: Var | str, lanes: int, name: str = "rows") -> Block[Form]:
    """A sum or an extreme of windows in two: first their rows, for every column, into an intermediate result; then the columns.

    ::

        for y, x: for ky, kx: acc = max(acc, in[2*y + ky, 2*x + kx])

        ⇒    for y, col: for ky: rows[y, col] = max(rows[y, col], in[2*y + ky, col])
             for y, x: for kx: acc = max(acc, rows[y, 2*x + kx])

    Windows that overlap share what they have of a column, as in separable filters; TVM's `rfactor` makes such an intermediate
    result of a loop of a reduction too. What windows reach beyond the operand `along` the vectors of `lanes` elements are columns
    that hold the value with which the reduction begins. `compute_at` says when the rows are made; `name`, and `name_before` and
    `name_after` for what reaches beyond, then are blocks with loops of their own. Sums of floating-point numbers are rounded in
    another order.

    Raises UsageError unless one operand is read, in windows that move along the loop by one, two or three elements.
    """
    b.check_placed()
    b.check_loops_only("separate")
    form = extract_predicates(b.form) if isinstance(b.form, Reduction) else None
    v, extent = b.find(along)
    windows = find_windows(form, v, extent) if form is not None and any(v is x for x, _ in form.loops) else None
    if form is None or windows is None:
        raise UsageError(f"what is reduced are no windows along {v.name} with rows and columns")

    def place(outer: Block[Reduction], depth: int) -> Block[Reduction]:
        return _placed(outer, depth, windows, lanes, name)

    return replace(b.with_guards(), pending=Pending(name, place))


def _placed(b: Block[Reduction], depth: int, w: ReducedWindows, lanes: int, name: str) -> Block[Reduction]:
    around, inside = b.loops[:depth], b.loops[depth:]
    same = len(b.inner) == len(w.reduction.inner) and all(x is y for (x, _), (y, _) in zip(b.inner, w.reduction.inner))
    if not same or not any(w.along is x for x, _ in inside):
        raise UsageError(
            f"the loop {w.along.name}, or one of the reduction, has changed or is outside", help="separate last"
        )
    rows = [x for x in inside if x[0] is not w.along]
    buffer = Buffer(name, [*(n for _, n in rows), w.width(lanes)], w.reduction.acc.dtype, Scope.LOCAL)
    if buffer.nbytes > KERNEL_SCRATCH:
        raise UsageError(f"{name} would take {buffer.nbytes} bytes of the stack", help="compute_at a loop")
    begin, _ = w.existing(lanes)
    margins = w.margins(buffer, rows, lanes)
    names = ["before", "after"] if begin > w.shift(lanes) else ["after"]
    fills = [(f"{name}_{n}", (Block.of(m),)) for n, m in zip(names, margins)]
    values = b.values(inside)
    combined = Block.of(w.combined(buffer, rows, values, lanes))
    level = Level(tuple((x, n, b.kind(x)) for x, n in around), buffer, (*fills, (name, (combined,))))
    return b.placed(w.reader(buffer, inside, rows, values, lanes), level, inside)
