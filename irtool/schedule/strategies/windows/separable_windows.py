"""Windows combined along one axis at a time: pooling.

    for y, x: for ky, kx: acc = max(acc, in[2*y + ky, 2*x + kx])

    ⇒   for band:                                                      (some rows of results)
          for y in band, col: for ky: row[y, col] = max(…, in[2*y + ky, col])
          for y in band, x:   for kx: acc = max(…, row[y, 2*x + kx])

Every element is read from near memory once for each row and column of a window, not for each of its elements. What windows
reach beyond the operand are columns of `row` that hold the neutral value.
"""

from __future__ import annotations

from dataclasses import dataclass

from ....tir import dtypes
from ....tir.expr import Var
from ....tir.simplify import Simplifier
from ....tir.stmt import Stmt
from ....tir.vector_target import VectorTarget
from ...core.affine import depends, simplifier, stride
from ...core.block import Block
from ...core.float16_lanes import accumulator_lanes
from ...core.forms import Loop, Reduction
from ...core.nest import lower_all
from ...cost.window_cycles import two_step_cycles
from ...primitives import compute_at, fuse, part, separate, split
from ...windows.separable import ReducedWindows, find_windows, uneven
from ..base import Candidate, Stage, Strategy, strategy
from ..parts import StepBand, bands, cut_band, explained, schedule_band, share, tiles


@strategy("separable_windows")
class SeparableWindows(Strategy):
    """The rows of windows combined first, then their columns."""

    def choose(self, stage: Stage) -> Candidate | None:
        if stage.reduction is None or stage.lanes < 2:
            return None
        plan = _choose_bands(stage)
        parts = [_separated(stage, plan, band) for band in plan.bands] if plan is not None else []
        chosen = [tiles(b, stage) for b in parts]
        if plan is None or chosen[0] is None or None in chosen:
            return None
        return Candidate(plan.cycles(stage.target), explained(parts[0], chosen[0]), (plan, chosen))

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        plan, chosen = candidate.plan
        parts = []
        for band, own in zip(plan.bands, chosen):
            with part(len(chosen)):
                parts += schedule_band(_separated(stage, plan, band), own, stage)
        return lower_all(parts, stage.target)


@dataclass(frozen=True)
class WindowPlan:
    """The vector axis, bands of a loop along which windows move too, the loops outside of the intermediate result, the windows. `images`: so many steps of the innermost loop outside have one intermediate result: what
    is stored is not read right after."""

    along: Var
    lanes: int
    bands: tuple[StepBand, ...]
    outside: tuple[Var, ...]
    windows: ReducedWindows
    images: int

    @property
    def is_dense(self) -> bool:
        """Whether rows of the intermediate result follow each other without a gap."""
        return self.windows.is_dense

    def cycles(self, target: VectorTarget) -> float:
        """Cycles per update."""
        w = self.windows
        return two_step_cycles(w.rows, w.columns, w.width(self.lanes) / w.extent, w.step > 1, target) / self.lanes


def _separated(stage: Stage, plan: WindowPlan, band: StepBand) -> Block[Reduction]:
    """One band of a reduction, which reads rows that are combined."""
    assert stage.windows is not None
    b, outside = Block.of(stage.windows), plan.outside
    if plan.images > 1:
        *outer, last = outside
        b = split(b, last, [dict(b.loops)[last] // plan.images, plan.images], [f"{last.name}_o", last.name])
        outside = (*outer, b.over(last)[0])
    b, around = cut_band(b, band, outside)
    b = share(b, stage, around)
    b = separate(b, along=plan.along, lanes=plan.lanes)
    b = compute_at(b, "rows", *(v for v, _ in b.loops[:around][-1:]))
    inside = [v for v, _ in b.loops]
    return fuse(b, inside[-2], inside[-1]) if plan.is_dense and len(inside) == 2 + (plan.images > 1) else b


def _choose_bands(stage: Stage) -> WindowPlan | None:
    """None if it is no sum or extreme of windows whose rows can be combined before their columns."""
    r = stage.windows
    assert r is not None
    lanes = accumulator_lanes(r, stage.target)
    simplify = simplifier(r.loops, r.inner)
    for v, extent in reversed(r.loops):
        if extent >= 4 and all(stride(simplify, s.buffer.offset(s.indices), v) == 1 for s in r.stores):
            windows = find_windows(r, v, extent)
            row = _row(windows, simplify) if windows is not None else None
            if windows is not None and row is not None:
                nbytes = windows.width(lanes) * dtypes.itemsize(r.acc.dtype)
                height = _height(row[1], nbytes, stage.target)
                outside = tuple(x for x in r.loops if x[0] is not v and x[0] is not row[0])
                images = _images(outside[-1][1], row[1] * nbytes, stage.target) if outside and height == row[1] else 1
                loops = tuple(x for x, _ in outside)
                return WindowPlan(v, lanes, tuple(bands(*row, height)), loops, windows, images)
    return None


def _row(w: ReducedWindows, simplify: Simplifier) -> Loop | None:
    """The innermost loop over results along which windows move too; None if there is none, or a loop moves nothing."""
    r = w.reduction
    terms = [simplify.linear(i)[0] for i in w.operand.indices]
    fixed = {x for x, _ in r.loops if any(depends(o, x) for o in uneven(w.operand, simplify))}
    if any(x not in fixed and not any(x in t for t in terms) for x, _ in r.loops):
        return None
    over = [
        (x, n)
        for x, n in r.loops
        if x is not w.along and x not in fixed and any(x in t and any(k in t for k, _ in w.rows) for t in terms)
    ]
    return over[-1] if over else None


def _height(extent: int, nbytes: int, target: VectorTarget) -> int:
    """Rows of a band, of so many bytes each: the intermediate result takes an eighth of what may lie on the stack, and bands are even."""
    height = max(1, min(extent, target.scratch_bytes // 8 // nbytes))
    return -(-extent // -(-extent // height))


def _images(extent: int, nbytes: int, target: VectorTarget) -> int:
    """How many images of so many bytes each share an intermediate result, which takes no more than that of a band does; enough parts
    are left for threads."""
    most = min(target.scratch_bytes // 8 // nbytes, extent // target.most_parts)
    return next((n for n in range(most, 1, -1) if extent % n == 0), 1)
