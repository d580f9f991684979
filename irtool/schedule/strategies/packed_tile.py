"""Operands copied into the order in which a reduction reads them, a part at a time.

    for y, x: for ky, kx: acc += x[2*y + ky - 1, 2*x + kx - 1] where that exists

    ⇒   for band:                                                      (some rows of results)
          p[row, kx % 2, col] = x[2*… + row - 1, 2*col + kx % 2 - 1] where that exists, else 0
          for y in band, x: for ky, kx: acc += p[2*y + ky, kx % 2, x + kx // 2]

Along the vector axis `x` the copy is contiguous, and wide enough for whole vectors: it holds what the windows reach beyond
the operand, and one row for every remainder of the stride. The same turns the second matrix of a product around. A copy is
small enough for the nearest cache, or at least the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...tir.expr import Binary, Cast, Const, Expr, Load, Var, all_of, const, if_then_else, rewrite
from ...tir.simplify import Simplifier
from ...tir.stmt import Buffer, Stmt, Store
from ..affine import depends, loads, stride
from ..forms import Loop, Map, Reduction
from ..guards import conditions_within
from ..vector_target import VectorTarget
from .base import Candidate, Stage, Strategy, strategy
from .parts import Part, explained, plans, reuse, schedule_parts
from .row_reduction import is_preferred

_LEAST_REUSE = 1.5
"""How often an element that is copied must be read."""

_COPY = 8
"""What copying an element costs, in updates of a reduction that is made in vectors as it is."""


@strategy("packed_tile")
class PackedTile(Strategy):
    """A copy of the operand that keeps results from being made in vectors, and a tile of registers that reads it."""

    def choose(self, stage: Stage) -> Candidate | None:
        r = stage.reduction
        if r is None or stage.lanes < 2 or not (stage.tile is None or is_preferred(stage)):
            return None
        parts = pack(r, stage.target)
        reads = reuse(r, parts)
        tiles = plans(stage, parts) if reads >= _LEAST_REUSE else None
        if not parts or tiles is None:
            return None
        cost = _COPY / reads / stage.target.lanes(4)
        return Candidate(cost, explained(parts, tiles), (parts, tiles))

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        return schedule_parts(stage, *candidate.plan)


@dataclass(frozen=True)
class Axis:
    """One axis of the operand: `fixed` is the part of its index that the loops around decide; the rest is within
    0 … `reach`, a sum of `terms`. Only the elements `first` … `last` exist."""

    fixed: Expr
    terms: dict[Var, int]
    reach: int
    first: int
    last: int


def pack(r: Reduction, target: VectorTarget) -> list[Part]:
    """The reduction in parts that read a copy of the operand that is in the way of vectors; empty if that cannot be done."""
    for v, extent in reversed(r.loops):
        simplify = Simplifier({x: (0, n - 1) for x, n in (*r.loops, *r.inner)})
        if extent < 4 or any(stride(simplify, s.buffer.offset(s.indices), v) != 1 for s in r.stores):
            continue
        operand = _operand(r, v, simplify)
        if operand is not None:
            packing = _Packing.of(r, v, extent, operand, target, simplify)
            if packing is not None:
                return list(packing.parts())
    return []


def _operand(r: Reduction, v: Var, simplify: Simplifier) -> Load | None:
    """The one read that keeps `v` from being the vector axis."""
    found: Load | None = None
    guarded = any(depends(g, v) for g in r.guards)
    for e in loads(r.update):
        if e.source is r.acc:
            continue
        step = stride(simplify, e.source.offset(e.indices), v)
        if step == 0 or (step == 1 and not guarded):
            continue
        if found is not None:
            return None
        found = e
    return found


@dataclass
class _Packing:
    """What is known of one operand: which loops are outside of its copy, and what the copy holds."""

    r: Reduction
    v: Var
    extent: int
    operand: Load
    target: VectorTarget
    simplify: Simplifier
    outside: set[Var]
    moving: int
    """The axis that moves with `v`."""
    step: int
    """By how much it does."""
    cut: tuple[Var, int] | None = None
    """The loop that is cut, and how many steps of it read one copy."""
    guards: tuple[Expr, ...] = ()
    """Those of the reduction that say nothing about the operand's axes."""
    neutral: Const = field(default_factory=lambda: const(0.0))
    limits: list[tuple[int, int]] = field(default_factory=list)

    @property
    def lanes(self) -> int:
        """Elements of a vector of accumulators."""
        return self.target.lanes_of(self.r.acc.dtype)

    @staticmethod
    def of(r: Reduction, v: Var, extent: int, e: Load, target: VectorTarget, simplify: Simplifier) -> _Packing | None:
        """None if the operand's indices are not sums of loop variables, or a guard is another than its bounds."""
        forms = [simplify.linear(i)[0] for i in e.indices]
        if e.source.layout is not None or any(k < 0 for f in forms for x, k in f.items() if isinstance(x, Var)):
            return None
        moving = [n for n, f in enumerate(forms) if v in f]
        if len(moving) != 1:
            return None
        inner = {x for x, _ in r.inner}
        used = {x for f in forms for x in f}
        # What is no sum of variables (the number of an image in a batch, of a group) must be decided by loops around.
        others = [x for x in used if not isinstance(x, Var)]
        fixed = {x for x, _ in r.loops if any(depends(o, x) for o in others)}
        if v in fixed or any(depends(o, x) for o in others for x in inner):
            return None
        used |= fixed
        rows = [
            x
            for x, _ in r.loops
            if x is not v and x not in fixed and any(x in f and not inner.isdisjoint(f) for f in forms)  # type: ignore[arg-type]
        ]
        row = rows[-1] if rows else None
        outside = {x for x, _ in r.loops if x in used and x is not v and x is not row}
        made = _Packing(r, v, extent, e, target, simplify, outside, moving[0], forms[moving[0]][v])
        if not made._take_guards() or not made._choose_cut(row):
            return None
        return made

    def _take_guards(self) -> bool:
        """Finds out which elements exist; False where a guard on the vector axis says something else."""
        e, r = self.operand, self.r
        self.limits = [(0, d - 1) for d in e.source.shape]
        kept: list[Expr] = []
        for g in r.guards:
            for n, i in enumerate(e.indices):
                low, high = self.simplify(g - i), self.simplify(g + i)
                first, last = self.limits[n]
                if isinstance(low, Const):
                    self.limits[n] = (max(first, -int(low.value)), last)
                    break
                if isinstance(high, Const):
                    self.limits[n] = (first, min(last, int(high.value)))
                    break
            else:
                kept.append(g)
        self.guards = tuple(kept)
        neutral = _neutral(r, e)
        if len(kept) < len(r.guards) and neutral is None:
            return False
        self.neutral = const(0, e.dtype) if neutral is None else neutral
        return not any(depends(g, self.v) for g in kept)

    def _choose_cut(self, row: Var | None) -> bool:
        """Cuts a loop so that a copy fits; False if none does."""
        extents = dict((*self.r.loops, *self.r.inner))
        if self._bytes(None) <= self.target.stack_bytes // 2:
            self.cut = None
            return True
        if row is not None:
            rows = extents[row]
            fitting = [n for n in range(1, rows + 1) if self._bytes((row, n)) <= self.target.stack_bytes // 2] or [1]
            count = -(-rows // fitting[-1])
            self.cut = (row, -(-rows // count))
        elif self.step == 1 and len(self._terms(self.moving)) == 1:
            # What is left over must be enough for a narrow vector.
            widths = [n for n in range(self.lanes, self.extent + 1, self.lanes) if not 0 < self.extent % n < 4]
            if self._bytes(None) <= self.target.packed_bytes:
                widths.append(self.extent)
            near = [n for n in widths if self._bytes((self.v, n)) <= self.target.stack_bytes and n >= 2 * self.lanes]
            far = [
                n
                for n in widths
                if self._bytes((self.v, n)) <= self.target.packed_bytes and (n <= 4 * self.lanes or n == self.extent)
            ]
            if not near and not far:
                return False
            self.cut = (self.v, near[-1] if near else far[0] if far[0] == self.extent else far[-1])
        return self._bytes(self.cut) <= self.target.packed_bytes

    def _terms(self, n: int) -> dict[Var, int]:
        """The terms of an index that the loops within decide."""
        terms, _ = self.simplify.linear(self.operand.indices[n])
        return {x: k for x, k in terms.items() if isinstance(x, Var) and x not in self.outside}

    def _axes(self, cut: tuple[Var, int] | None, place: dict[Expr, Expr]) -> list[Axis]:
        """The operand's axes, the loop that is cut having so many steps; `place` says what stands for variables outside."""
        extents = dict((*self.r.loops, *self.r.inner))
        if cut is not None:
            extents[cut[0]] = cut[1]
        found = []
        for n, i in enumerate(self.operand.indices):
            terms = self._terms(n)
            rest = self.simplify(i)
            for x, k in terms.items():
                rest = rest - x * k
            fixed = self.simplify(rest)
            for x, k in terms.items():
                if x in place:
                    fixed = fixed + place[x] * k
            fixed = self.simplify(rewrite(fixed, lambda e: e, dict(place)))
            reach = sum(k * (extents[x] - 1) for x, k in terms.items())
            found.append(Axis(fixed, terms, reach, *self.limits[n]))
        return found

    def _columns(self, cut: tuple[Var, int] | None) -> int:
        """Elements of a row of the copy: whole vectors, and what windows reach beyond them."""
        extent = cut[1] if cut is not None and cut[0] is self.v else self.extent
        beyond = self._axes(cut, {})[self.moving].reach - self.step * (extent - 1)
        width = self.lanes
        while width > 4 and 2 * extent <= width:
            width //= 2
        return -(-extent // width) * width + beyond // self.step

    def _shape(self, cut: tuple[Var, int] | None) -> list[int]:
        axes = self._axes(cut, {})
        heights = [a.reach + 1 for n, a in enumerate(axes) if n != self.moving and a.terms]
        columns = self._shift(cut) + self._columns(cut)
        # Rows begin where vectors do.
        return [*heights, *([self.step] if self.step > 1 else []), -(-columns // self.lanes) * self.lanes]

    def _shift(self, cut: tuple[Var, int] | None) -> int:
        """Columns before the first one, so that the first that exists in the operand is at the beginning of a vector."""
        fixed = self._axes(cut, {})[self.moving].fixed
        if self.step > 1 or not isinstance(fixed, Const):
            return 0
        return -max(0, self.limits[self.moving][0] - int(fixed.value)) % self.lanes

    def _bytes(self, cut: tuple[Var, int] | None) -> int:
        return Buffer("", self._shape(cut), self.operand.dtype).nbytes

    # -- parts ---------------------------------------------------------------------------------------------------------

    def parts(self) -> Iterator[Part]:
        """One part for the vector_segments that have the same size, one for what is left over."""
        if self.cut is None:
            yield self._part(None, 0, 1)
            return
        x, size = self.cut
        extent = dict(self.r.loops)[x]
        yield self._part((x, size), 0, extent // size)
        if extent % size:
            yield self._part((x, extent % size), extent // size * size, 1)

    def _part(self, cut: tuple[Var, int] | None, first: int, count: int) -> Part:
        r = self.r
        piece = Var("band")
        around: list[Loop] = [(Var(x.name), n) for x, n in r.loops if x in self.outside]
        place: dict[Expr, Expr] = dict(zip((x for x, _ in r.loops if x in self.outside), (y for y, _ in around)))
        start: dict[Expr, Expr] = {}
        if cut is not None:
            start[cut[0]] = piece * cut[1] + first if count > 1 else const(first)
            if count > 1:
                around.append((piece, count))
        shape = self._shape(cut)
        nbytes = Buffer("", shape, self.operand.dtype).nbytes
        buffer = Buffer("packed", shape, self.operand.dtype, "local" if nbytes <= self.target.stack_bytes else "arena")
        axes = self._axes(cut, {**place, **start})
        columns, shift = self._columns(cut), self._shift(cut)
        fill = tuple(self._copy(buffer, axes, phase, around, columns, shift) for phase in range(self.step))
        loops = tuple(
            (x, cut[1] if cut is not None and x is cut[0] else n) for x, n in r.loops if x not in self.outside
        )
        return Part(tuple(around), fill, self._reader(buffer, axes, loops, place, start, shift), buffer)

    def _copy(
        self, buffer: Buffer, axes: list[Axis], phase: int, around: Sequence[Loop], columns: int, shift: int
    ) -> Map:
        """Elements with that remainder of the stride."""
        loops: list[Loop] = []
        source: list[Expr] = []
        at: list[Expr] = []
        conditions: list[Expr] = []
        column = Var("col")
        ranges = Simplifier({x: (0, n - 1) for x, n in (*around, (column, columns))})
        for n, a in enumerate(axes):
            index = a.fixed
            if n == self.moving:
                index = index + (column * self.step + phase)
            elif a.terms:
                row = Var(f"row{n}")
                ranges.bind(row, 0, a.reach)
                loops.append((row, a.reach + 1))
                at.append(row)
                index = index + row
            source.append(ranges(index))
            conditions += conditions_within(ranges, source[-1], a.first, a.last)
        if self.step > 1:
            at.append(const(phase))
        value: Expr = Load(self.operand.source, tuple(source))
        if conditions:
            value = if_then_else(all_of(conditions), value, self.neutral)
        return Map((*loops, (column, columns)), (Store(buffer, (*at, column + shift), value),))

    def _reader(
        self,
        buffer: Buffer,
        axes: list[Axis],
        loops: tuple[Loop, ...],
        place: dict[Expr, Expr],
        start: dict[Expr, Expr],
        shift: int,
    ) -> Reduction:
        r = self.r
        simplify = Simplifier({x: (0, n - 1) for x, n in (*loops, *r.inner)})
        at: list[Expr] = []
        for n, a in enumerate(axes):
            if n != self.moving and a.terms:
                at.append(_sum(a.terms))
        beyond = _sum({x: k for x, k in axes[self.moving].terms.items() if x is not self.v})
        if self.step > 1:
            at.append(beyond % self.step)
        at.append(self.v + beyond // self.step + shift)
        read = Load(buffer, tuple(simplify(i) for i in at))
        memo: dict[Expr, Expr] = {**place, self.operand: read}
        memo.update({x: simplify(x + s) for x, s in start.items()})  # type: ignore[operator]

        def change(e: Expr) -> Expr:
            return simplify(rewrite(e, lambda y: y, memo))

        stores = tuple(Store(s.buffer, [change(i) for i in s.indices], change(s.value)) for s in r.stores)
        guards = tuple(change(g) for g in self.guards)
        return Reduction(loops, r.acc, change(r.init), r.inner, change(r.update), stores, guards)


def _sum(terms: dict[Var, int]) -> Expr:
    total: Expr = const(0)
    for x, k in terms.items():
        total = total + x * k
    return total


def _neutral(r: Reduction, e: Load) -> Const | None:
    """The value of a read with which a step changes nothing; None if there is none."""
    if not isinstance(r.update, Binary):
        return None
    if r.update.op in ("max", "min", "maximum", "minimum"):
        return const(r.init.value, e.dtype) if r.update.b is e and isinstance(r.init, Const) else None
    if r.update.op != "+":
        return None
    value: Expr = r.update.b
    while value is not e:
        if isinstance(value, Cast):
            value = value.value
        elif isinstance(value, Binary) and value.op == "*":
            value = value.b if _reads(value.b, e) else value.a
        else:
            return None
    return const(0, e.dtype)


def _reads(value: Expr, e: Load) -> bool:
    return any(x is e for x in loads(value))
