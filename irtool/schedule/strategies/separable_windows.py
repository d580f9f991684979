"""Windows combined along one axis at a time: pooling.

    for y, x: for ky, kx: acc = max(acc, in[2*y + ky, 2*x + kx])

    ⇒   for band:                                                      (some rows of results)
          for y in band, col: for ky: row[y, col] = max(…, in[2*y + ky, col])
          for y in band, x:   for kx: acc = max(…, row[y, 2*x + kx])

Every element is read from near memory once for each row and column of a window, not for each of its elements. What windows
reach beyond the operand are columns of `row` that hold the neutral value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...tir.expr import Binary, Cast, Const, Expr, Load, Var, const, rewrite
from ...tir.simplify import Simplifier
from ...tir.stmt import Buffer, Stmt, Store
from ..affine import depends, loads, stride
from ..forms import Loop, Map, Reduction
from ..vector_target import VectorTarget
from .base import Candidate, Stage, Strategy, strategy
from .parts import Part, explained, plans, schedule_parts
from .row_reduction import is_preferred


@strategy("separable_windows")
class SeparableWindows(Strategy):
    """The rows of windows combined first, then their columns."""

    plevel = 20

    def choose(self, stage: Stage) -> Candidate | None:
        if stage.reduction is None or stage.lanes < 2 or is_preferred(stage):
            return None
        parts = separate(stage.windows, stage.target)
        tiles = plans(stage, parts)
        if not parts or tiles is None:
            return None
        return Candidate(1 / stage.target.lanes(4), explained(parts, tiles), (parts, tiles))

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        return schedule_parts(stage, *candidate.plan)


def separate(r: Reduction, target: VectorTarget) -> list[Part]:
    """The reduction in parts; empty if it is no sum or extreme of windows whose rows can be combined before their columns."""
    simplify = Simplifier({x: (0, n - 1) for x, n in (*r.loops, *r.inner)})
    for v, extent in reversed(r.loops):
        if extent >= 4 and all(stride(simplify, s.buffer.offset(s.indices), v) == 1 for s in r.stores):
            windows = _windows(r, v, extent, target, simplify)
            if windows is not None and windows.reach_data:
                return list(windows.parts())
    return []


@dataclass(frozen=True)
class _Windows:
    """The reduction, its vector axis `v`, and what is known of its one operand.

    `columns` and `rows`: the loops over a window that move along `v`, and the others. `row`: the loop over results that is
    cut into bands. `step`: by how much the operand's last index moves with `v`, `first` … `last`: where it may be.
    """

    r: Reduction
    v: Var
    extent: int
    target: VectorTarget
    operand: Load
    columns: tuple[Loop, ...]
    rows: tuple[Loop, ...]
    row: Loop
    step: int
    axis: int
    offset: int
    first: int
    last: int
    guards: tuple[Expr, ...]

    @property
    def lanes(self) -> int:
        """Elements of a vector of accumulators."""
        return self.target.lanes_of(self.r.acc.dtype)

    def parts(self) -> Iterator[Part]:
        """Bands of the same height, and one for the rows left over."""
        _, extent = self.row
        height = max(1, min(extent, self.target.stack_bytes // 8 // (4 * self._width)))
        height = -(-extent // -(-extent // height))
        yield self._part(height, 0, extent // height)
        if extent % height:
            yield self._part(extent % height, extent // height * height, 1)

    @property
    def _shift(self) -> int:
        """Columns before the first one, so that the first that exists in the operand is at the beginning of a vector."""
        return -max(0, self.first - self.offset) % self.lanes

    @property
    def _width(self) -> int:
        beyond = sum(n - 1 for _, n in self._spread())
        results = -(-self.extent // self.lanes) * self.lanes
        # One more than is needed: vectors of every second element are cut from two of neighbours.
        needed = self._shift + self.step * (results - 1) + beyond + self.step
        return -(-needed // self.lanes) * self.lanes

    def _spread(self) -> list[tuple[Var, int]]:
        """The loops along the columns, with one more than how far they reach."""
        terms, _ = Simplifier().linear(self.operand.indices[self.axis])
        return [(k, terms[k] * (n - 1) + 1) for k, n in self.columns]

    def _part(self, height: int, first: int, count: int) -> Part:
        r, (y, _) = self.r, self.row
        band = Var("band")
        outside = [(x, Var(x.name), n) for x, n in r.loops if x is not y and x is not self.v]
        around: list[Loop] = [(fresh, n) for _, fresh, n in outside]
        start: Expr = band * height + first if count > 1 else const(first)
        if count > 1:
            around.append((band, count))
        place: dict[Expr, Expr] = {x: fresh for x, fresh, _ in outside}
        place[y] = y + start
        buffer = Buffer("rows", (height, self._width), r.acc.dtype, "local")
        fill: tuple[Map | Reduction, ...] = (*self._margins(buffer, height), self._combined(buffer, height, place))
        return Part(tuple(around), fill, self._reader(buffer, height, place), buffer)

    def _existing(self) -> tuple[int, int]:
        """The columns of the buffer that stand for elements of the operand: first, and one after the last."""
        begin = max(0, self.first - self.offset) + self._shift
        return begin, min(self._width, self.last - self.offset + 1 + self._shift)

    @property
    def reach_data(self) -> bool:
        """False if all that the windows cover is padding."""
        begin, end = self._existing()
        return begin < end

    def _margins(self, buffer: Buffer, height: int) -> list[Map]:
        """What stands beside them."""
        begin, end = self._existing()
        made = []
        for low, high in ((self._shift, begin), (end, self._width)):
            if high > low:
                row, column = Var("row"), Var("col")
                store = Store(buffer, (row, column + low), self.r.init)
                made.append(Map(((row, height), (column, high - low)), (store,)))
        return made

    def _combined(self, buffer: Buffer, height: int, place: dict[Expr, Expr]) -> Reduction:
        r, (y, _) = self.r, self.row
        begin, end = self._existing()
        column = Var("col")
        loops = ((y, height), (column, end - begin))
        simplify = Simplifier({x: (0, n - 1) for x, n in (*loops, *self.rows)})
        acc = Buffer(r.acc.name, (), r.acc.dtype, r.acc.scope)
        indices = [
            column + (begin - self._shift + self.offset) if n == self.axis else rewrite(i, lambda x: x, dict(place))
            for n, i in enumerate(self.operand.indices)
        ]
        read = Load(self.operand.source, tuple(simplify(i) for i in indices))
        assert isinstance(r.update, Binary)
        value = rewrite(r.update.b, lambda x: x, {self.operand: read})
        guards = tuple(simplify(rewrite(g, lambda x: x, dict(place))) for g in self.guards)
        update = Binary(r.update.op, Load(acc, ()), value, r.acc.dtype)
        return Reduction(
            loops, acc, r.init, self.rows, update, (Store(buffer, (y, column + begin), Load(acc, ())),), guards
        )

    def _reader(self, buffer: Buffer, height: int, place: dict[Expr, Expr]) -> Reduction:
        r, (y, _) = self.r, self.row
        loops = ((y, height), (self.v, self.extent))
        simplify = Simplifier({x: (0, n - 1) for x, n in (*loops, *self.columns)})
        at = simplify(self.operand.indices[self.axis] - self.offset + self._shift)
        assert isinstance(r.update, Binary)
        update = Binary(r.update.op, r.update.a, Load(buffer, (y, at)), r.acc.dtype)
        memo = dict(place)
        stores = tuple(
            Store(
                s.buffer,
                [simplify(rewrite(i, lambda x: x, memo)) for i in s.indices],
                simplify(rewrite(s.value, lambda x: x, memo)),
            )
            for s in r.stores
        )
        return Reduction(loops, r.acc, r.init, self.columns, update, stores)


def _windows(r: Reduction, v: Var, extent: int, target: VectorTarget, simplify: Simplifier) -> _Windows | None:
    update = r.update
    if (
        not isinstance(update, Binary)
        or update.op not in ("+", "max", "min", "maximum", "minimum")
        or not isinstance(r.init, Const)
    ):
        return None
    value = update.b
    while isinstance(value, Cast):
        value = value.value
    if not isinstance(value, Load) or not isinstance(update.a, Load) or update.a.source is not r.acc:
        return None
    if (update.op == "+" and r.init.value != 0) or value.source.layout is not None or value.source is r.acc:
        return None
    forms = [simplify.linear(i) for i in value.indices]
    # What is no sum of variables (the number of an image in a batch) must be decided by loops around.
    others = [x for terms, _ in forms for x in terms if not isinstance(x, Var)]
    fixed = {x for x, _ in (*r.loops, *r.inner) if any(depends(o, x) for o in others)}
    if v in fixed or any(k in fixed for k, _ in r.inner):
        return None
    moving = [n for n, (terms, _) in enumerate(forms) if v in terms]
    step = stride(simplify, value.source.offset(value.indices), v)
    if len(moving) != 1 or step not in (1, 2, 3) or forms[moving[0]][0][v] != step:
        return None
    terms, offset = forms[moving[0]]
    columns = tuple((k, n) for k, n in r.inner if k in terms)
    rows = tuple((k, n) for k, n in r.inner if k not in terms)
    if len(terms) != 1 + len(columns) or not columns or not rows or min(terms.values()) < 0:
        return None
    over = [
        (x, n)
        for x, n in r.loops
        if x is not v and x not in fixed and any(x in t and any(k in t for k, _ in rows) for t, _ in forms)
    ]
    if not over or any(x not in fixed and not any(x in t for t, _ in forms) for x, _ in r.loops):
        return None
    first, last = 0, value.source.shape[moving[0]] - 1
    kept: list[Expr] = []
    for g in r.guards:
        if not any(depends(g, x) for x in (v, *(k for k, _ in columns))):
            kept.append(g)
            continue
        low, high = simplify(g - value.indices[moving[0]]), simplify(g + value.indices[moving[0]])
        if isinstance(low, Const):
            first = max(first, -int(low.value))
        elif isinstance(high, Const):
            last = min(last, int(high.value))
        else:
            return None
    if sum(1 for e in loads(update) if e.source is not r.acc) != 1:
        return None
    return _Windows(
        r, v, extent, target, value, columns, rows, over[-1], step, moving[0], offset, first, last, tuple(kept)
    )
