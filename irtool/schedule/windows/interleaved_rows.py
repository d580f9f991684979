"""Windows over images whose few channels lie next to each other, in two: their rows, then their columns.

A row of elements is as long as the image is wide, times its channels: what is combined of it lies side by side. See
`primitives.combine_rows`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...tir.expr import Binary, Expr, Load, Var, substitute
from ...tir.forms import AnyForm, Loop
from ...tir.stmt import PARALLEL, SERIAL, Allocate, Buffer, For, Scope, Stmt, Store, seq
from ...tir.vector_target import USUAL
from ..core.affine import depends, simplifier, stride
from ..core.forms import Map, Reduction
from ..core.guards import extract_predicates
from ..core.staged import StagedNest, StagedNestBuilder
from ..cost.machine import FEWEST_LANES
from .separable import ReducedWindows, find_windows


@dataclass(frozen=True)
class InterleavedRows:
    """Windows along an axis of columns, the last but one; each column has a few `channels`, the last axis."""

    windows: ReducedWindows
    channels: Loop

    @property
    def outside(self) -> tuple[Loop, ...]:
        """The loops over results that a row is made inside of."""
        return self.windows.reduction.loops[:-2]

    def nest(self, shared: bool) -> StagedNest:
        """A row of results at a time: `margins`, what of its windows reaches beyond the image; `rows`; `columns`."""
        w, (_, channels) = self.windows, self.channels
        buffer = Buffer("row", (w.exact_width * channels,), w.reduction.acc.dtype, Scope.LOCAL)
        begin, end = w.existing(1)
        stages = StagedNestBuilder()
        places = []
        for low, high in ((0, begin), (end, w.exact_width)):
            if high > low:
                at = Var("at")
                store = Store(buffer, (at + low * channels,), w.reduction.init)
                places.append(stages.add("margins", Map(((at, (high - low) * channels),), (store,))))
        places.append(stages.add("rows", self._rows(buffer, begin, end)))
        places.append(stages.add("columns", self._columns(buffer)))
        body: Stmt = Allocate(buffer, seq(places))
        for n, (v, extent) in reversed(list(enumerate(self.outside))):
            body = For(v, extent, body, PARALLEL if shared and n == 0 else SERIAL)
        return stages.nest(body)

    def _rows(self, buffer: Buffer, begin: int, end: int) -> Reduction:
        w, (c, channels) = self.windows, self.channels
        r = w.reduction
        column, own = Var("col"), Var(c.name)
        at: dict[Expr, Expr] = {c: own}
        simplify = simplifier([*self.outside, (column, end - begin), (own, channels)], w.rows)
        indices = [
            column + (begin + w.offset) if n == w.axis else substitute(i, at) for n, i in enumerate(w.operand.indices)
        ]
        read = Load(w.operand.source, tuple(simplify(i) for i in indices))
        acc = r.acc.replace()
        assert isinstance(r.update, Binary)
        value = substitute(r.update.b, {w.operand: read})
        update = Binary(r.update.op, Load(acc, ()), value, r.acc.dtype)
        store = Store(buffer, ((column + begin) * channels + own,), Load(acc, ()))
        return Reduction(((column, end - begin), (own, channels)), acc, r.init, w.rows, update, (store,), w.guards)

    def _columns(self, buffer: Buffer) -> Reduction:
        w, (c, channels) = self.windows, self.channels
        r = w.reduction
        simplify = simplifier(r.loops, w.columns)
        read = Load(buffer, (simplify((w.operand.indices[w.axis] - w.offset) * channels + c),))
        assert isinstance(r.update, Binary)
        update = Binary(r.update.op, r.update.a, read, r.acc.dtype)
        return Reduction(r.loops[-2:], r.acc, r.init, w.columns, update, r.stores)


def interleaved_rows(form: AnyForm) -> InterleavedRows | None:
    """None unless a form combines windows of one operand, whose columns have a few channels each, side by side."""
    if not isinstance(form, Reduction) or len(form.loops) < 3:
        return None
    r = extract_predicates(form)
    (x, extent), (c, channels) = r.loops[-2:]
    if not 1 < channels <= FEWEST_LANES:
        return None
    simplify = simplifier(r.loops, r.inner)
    for s in r.stores:
        place = s.buffer.offset(s.indices)
        if (stride(simplify, place, x), stride(simplify, place, c)) != (channels, 1):
            return None
    windows = find_windows(r, x, extent, channels)
    if windows is None or any(depends(g, c) for g in r.guards):
        return None
    indices = windows.operand.indices
    beside = [n for n, i in enumerate(indices) if depends(i, c)]
    at_end = beside == [len(indices) - 1] and windows.axis == len(indices) - 2 and indices[-1] is c
    if not at_end or windows.operand.source.shape[-1] != channels:
        return None
    if windows.exact_width * channels * 4 > USUAL.stack_bytes:
        return None
    return InterleavedRows(windows, (c, channels))
