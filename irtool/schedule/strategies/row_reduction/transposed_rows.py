"""Reductions of consecutive rows, some rows at a time, which are transposed first.

    for r: for k: (i, m) = x[r, k] > m ? (k, x[r, k]) : (i, m)

    ⇒   for r_o: for k, lane: transposed[k, lane] = x[r_o * 64 + lane, k]              (in squares, see `tiled_transpose`)
                 for lane: for k: (i, m) = transposed[k, lane] > m ? … : (i, m)        (vectors along lane)

The lanes of one row, each with every 16th step, would have to be combined at its end, which takes longer than the steps of a
short row. Windows of different sizes begin at irregular offsets, so that no vector along a row has elements of several of them;
several results of each row are stored to `results[i, lane]`, and transposed back. This is TVM's `cache_read` and `cache_write`
with a layout.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ....symbolic_int import as_integer
from ....tir import dtypes
from ....tir.expr import Expr, Load, Var, const, substitute, substitution
from ....tir.forms import Loop, Map, TupleReduction, map_expressions
from ....tir.stmt import PARALLEL, SERIAL, Allocate, Buffer, For, Scope, Stmt, Store, seq
from ....tir.vector_target import VectorTarget
from ...core.affine import depends, loads, simplifier, stride
from ...cost.machine import FEWEST_LANES, LOOKED_AT, TOGETHER, WRITTEN_OUT
from ...primitives import untraced
from ...windows.peel_windows import axis_of_windows, peel_windows
from ..base import Candidate, Stage, Strategy, strategy
from ..staged import by_strategy
from .narrow_indices import narrow_indices


@dataclass(frozen=True)
class Rows:
    """The rows of a reduction.

    Attributes:
        form: the reduction, with one loop over rows and possibly one over results of a row, `result_loops`.
        rows: the loop over rows.
        size: the number of rows that are transposed at a time.
        operand: the operand.
        first: the least last index of a row.
        width: the number of elements of a row.
    """

    form: TupleReduction
    rows: Loop
    result_loops: tuple[Loop, ...]
    operand: Load
    first: int
    width: int
    size: int

    def block(self, number: Var) -> tuple[list[Buffer], list[Map | TupleReduction]]:
        """The buffers of a block of rows, and the stages that transpose rows, reduce them, and transpose several results of
        each."""
        source, store = self.operand.source, self.form.stores[0]
        step, lane = Var("step"), Var("lane")
        transposed = Buffer("transposed", (self.width, self.size), source.dtype, Scope.LOCAL)
        value = Load(source, self._in_row(self.operand, number, lane, step + self.first))
        copy = Map(((step, self.width), (lane, self.size)), (Store(transposed, (step, lane), value),))
        lane = Var("lane")
        v = self.rows[0]
        here: dict[Expr, Expr] = {v: number * self.size + lane}
        read = Load(transposed, (self.operand.indices[-1] - self.first, lane))
        reader = _with(self.form, (*self.result_loops, (lane, self.size)), {self.operand: read, **here})
        if not self.result_loops:
            return [transposed], [copy, reader]
        ((axis, count),) = self.result_loops
        results = Buffer("results", (count, self.size), store.buffer.dtype, Scope.LOCAL)
        reader = replace(reader, stores=(Store(results, (axis, lane), reader.stores[0].value),))
        lane, own = Var("lane"), Var("i")
        place = self._in_row(Load(store.buffer, store.indices), number, lane, own)
        back = Map(((lane, self.size), (own, count)), (Store(store.buffer, place, Load(results, (own, lane))),))
        return [transposed, results], [copy, reader, back]

    def _in_row(self, element: Load, number: Var, lane: Var, last: Expr) -> tuple[Expr, ...]:
        """The indices of an element of a row in a block, with another last index.

        All but the last are 0: without divisions of the row's number, which contains the block's number, the offset is linear in
        the rows.
        """
        loops = ((number, self.rows[1] // self.size), (lane, self.size), *self.form.loops)
        indices = [substitute(i, {self.rows[0]: number * self.size + lane}) for i in element.indices[:-1]]
        place = simplifier(loops, ())(element.source.offset([*indices, const(0)]))
        return (*(const(0) for _ in indices), place + last)

    def rest(self) -> TupleReduction | None:
        """The remaining rows; None if the blocks have all."""
        v, rows = self.rows
        left = rows % self.size
        own = Var(v.name, v.dtype)
        return _with(self.form, ((own, left), *self.result_loops), {v: own + (rows - left)}) if left else None


@strategy("transposed_rows")
class TransposedRows(Strategy):
    """Vectors along rows, after a transpose of some rows."""

    def choose(self, stage: Stage) -> Candidate | None:
        rows = find_rows(stage.form, stage.target) if isinstance(stage.form, TupleReduction) else None
        if rows is None:
            return None
        return Candidate(1 / rows.size, f"{rows.size} rows at a time, transposed first", rows)

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        rows: Rows = candidate.plan
        v, count = rows.rows
        number = Var(f"{v.name}_o", v.dtype)
        buffers, forms = rows.block(number)
        shared = stage.work >= stage.target.parallel_updates and not stage.serial
        with untraced():
            body = seq([by_strategy(stage.inner(f, serial=True)).apply() for f in forms])
            rest = rows.rest()
            last = [by_strategy(stage.inner(rest, serial=True)).apply()] if rest is not None else []
        for buffer in reversed(buffers):
            body = Allocate(buffer, body)
        return seq([For(number, count // rows.size, body, PARALLEL if shared else SERIAL), *last])


def find_rows(form: TupleReduction, target: VectorTarget) -> Rows | None:
    """The short consecutive rows of the one operand of a reduction, along all loops over results, or all but the one along which
    windows differ.

    None for other reductions.
    """
    if not target.vector_bytes or len(form.inner) != 1 or (form.in_order is None and form.condition is None):
        return None
    (k, extent), along = form.inner[0], axis_of_windows(form)
    result_loops = (along,) if along is not None else ()
    if (form.condition is not None and along is None) or (along is not None and form.loops[-1][0] is not along[0]):
        return None
    read = list(dict.fromkeys(e for e in loads(*_updates(form)) if e.source not in form.accs))
    other_reads = [e for s in form.stores for e in loads(s.value) if e.source not in form.accs]
    if len(read) != 1 or other_reads or read[0].source.layout is not None:
        return None
    if any(depends(s.value, v) for s in form.stores for v, _ in form.loops[: len(form.loops) - len(result_loops)]):
        return (
            None  # averages of windows that differ along rows, too, need less memory as stages in one loop over images
        )
    fused = _fused(form, result_loops)
    (operand,) = dict.fromkeys(e for e in loads(*_updates(fused)) if e.source not in fused.accs)
    (v, rows), simplify = fused.loops[0], simplifier(fused.loops, fused.inner)
    inside = [k, *(x for x, _ in result_loops)]
    low, high = simplify.range(operand.indices[-1])
    if any(depends(i, x) for i in operand.indices[:-1] for x in inside) or depends(operand.indices[-1], v):
        return None
    first, width = as_integer(low), min(as_integer(high), operand.source.shape[-1] - 1) - as_integer(low) + 1
    place = simplify(operand.source.offset((*operand.indices[:-1], const(0))))
    if first < 0 or (stride(simplify, place, v) or 0) < width or not _are_stored_in_rows(fused, result_loops):
        return None
    if along is not None and not _are_short(form, along, target):
        return None
    item = dtypes.itemsize(operand.dtype)
    accs = narrow_indices(form).accs
    lanes = min(target.lanes(max(item, 4 if dtypes.is_float(b.dtype) else dtypes.itemsize(b.dtype))) for b in accs)
    size = next(
        (n * lanes for n in (TOGETHER, 2, 1) if n * lanes <= rows and _fits(n * lanes * width * item, target)), 0
    )
    if lanes < FEWEST_LANES or not size or not FEWEST_LANES <= width <= LOOKED_AT:
        return None
    if along is None and (stride(simplify, operand.indices[-1], k) != 1 or _is_rest_long(rows, size, extent, lanes)):
        return None
    return Rows(fused, (v, rows), result_loops, operand, first, width, size)


def _updates(form: TupleReduction) -> tuple[Expr, ...]:
    return form.in_order.updates if form.in_order is not None else form.updates


def _fused(form: TupleReduction, result_loops: tuple[Loop, ...]) -> TupleReduction:
    """The reduction with all loops over rows fused."""
    others = form.loops[: len(form.loops) - len(result_loops)]
    own = Var("row")
    total = math.prod(n for _, n in others)
    values: dict[Expr, Expr] = {}
    behind = total
    for v, n in others:
        behind //= n
        values[v] = own // behind % n
    return _with(form, ((own, total), *result_loops), values)


def _with(form: TupleReduction, loops: tuple[Loop, ...], values: Mapping[Expr, Expr]) -> TupleReduction:
    """The reduction over other loops, with `values` in place of its axes and operands."""
    simplify, changed = simplifier(loops, form.inner), substitution(dict(values))

    def change(e: Expr) -> Expr:
        return simplify(changed(e))

    changed_form = map_expressions(form, change)
    assert isinstance(changed_form, TupleReduction)
    return replace(changed_form, loops=loops)


def _are_stored_in_rows(form: TupleReduction, result_loops: tuple[Loop, ...]) -> bool:
    """True if results are contiguous along the rows, or those of each row are."""
    (v, _), simplify = form.loops[0], simplifier(form.loops, ())
    if not result_loops:
        return all(stride(simplify, s.buffer.offset(s.indices), v) == 1 for s in form.stores)
    (store, *others), ((axis, _),) = form.stores, result_loops
    is_last = store.indices[-1] is axis and not any(depends(i, axis) for i in store.indices[:-1])
    return not others and is_last and store.buffer.layout is None


def _are_short(form: TupleReduction, along: Loop, target: VectorTarget) -> bool:
    """True for windows that become one expression each."""
    windows = peel_windows(form, along)
    return (
        along[1] <= WRITTEN_OUT
        and windows is not None
        and sum(n for r in windows for _, n in r.inner) <= target.unrolled_updates
    )


def _is_rest_long(rows: int, size: int, extent: int, lanes: int) -> bool:
    """True if the remaining rows, which are reduced one by one, take longer than the blocks save."""
    return rows % size > rows // TOGETHER and extent >= 2 * lanes


def _fits(size: int, target: VectorTarget) -> bool:
    """True if the transposed rows stay in the L1 cache, beside their source."""
    return size <= target.scratch_bytes * 3 // 4
