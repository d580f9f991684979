"""Operands packed into the order in which a reduction reads them, a part at a time.

    for y, x: for ky, kx: acc += x[2*y + ky - 1, 2*x + kx - 1] where that exists

    ⇒   for band:                                                      (some rows of results)
          p[row, kx % 2, col] = x[2*… + row - 1, 2*col + kx % 2 - 1] where that exists, else 0
          for y in band, x: for ky, kx: acc += p[2*y + ky, kx % 2, x + kx // 2]

Along the vector axis `x` the copy is contiguous, and wide enough for full vectors: it includes the padding of the windows, and
has one row for every remainder of the stride. The second matrix of a product is transposed in the same way. A copy fits in the L1
cache, or at least in the L2 cache.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from ....symbolic_int import bound, estimate
from ....tir.expr import Load, Var
from ....tir.simplify import Simplifier
from ....tir.stmt import Buffer, Scope, Stmt
from ....tir.vector_target import VectorTarget
from ...core.affine import depends, operands, simplifier, stride
from ...core.block import Block
from ...core.forms import Reduction
from ...core.nest import lower_all
from ...core.packing import Limits, Packing, find_limits
from ...cost.tile_choice import TileChoice, other_tiles
from ...primitives import compute_at, pack, part
from ..base import Candidate, Stage, Strategy, strategy
from ..row_reduction.strategy import is_preferred
from .bands import StepBand, bands, cut_band, explained, reuse, schedule_band, share, tiles


@strategy("packed_tile")
class PackedTile(Strategy):
    """A copy of the operand that prevents vectors of results, and a register tile that reads it."""

    def choose(self, stage: Stage) -> Candidate | None:
        r = stage.padded
        if r is None or stage.lanes < 2:
            return None
        tile = stage.tile_for(r) if r.formed else stage.tile
        if tile is not None and not is_preferred(stage):
            return None
        plan = choose_packing(r, stage.target)
        return _offer(stage, r, plan) if plan is not None else None

    def variants(self, stage: Stage) -> Iterator[Candidate]:
        offer = self.choose(stage)
        r = stage.padded
        if offer is None or r is None:
            return
        yield offer
        plan, chosen = offer.plan
        for cut in _other_cuts(plan):
            other = _offer(stage, r, replace(plan, cut=cut))
            if other is not None:
                yield other
        if len(chosen) == 1:
            form = _packed(stage, plan, plan.bands()[0]).form
            for tile in islice(other_tiles(form, chosen[0][-1], stage.target), 1, None):
                cost = offer.cost + tile.cost - chosen[0][-1].cost
                yield Candidate(cost, tile.reason, (plan, [[*chosen[0][:-1], tile]]), _label(plan, tile))

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        plan, chosen = candidate.plan
        parts = []
        for band, own in zip(plan.bands(), chosen):
            with part(len(chosen)):
                parts += schedule_band(_packed(stage, plan, band), own, stage)
        return lower_all(parts, stage.target)


def _offer(stage: Stage, r: Reduction, plan: PackingPlan) -> Candidate | None:
    """The candidate of a plan; None if a copy is not read often enough, or its reader has no tile."""
    parts = [_packed(stage, plan, band) for band in plan.bands()]
    reads = reuse(r, parts)
    chosen = [tiles(b, stage) for b in parts] if reads >= stage.target.copied_reads else [None]
    if chosen[0] is None or None in chosen:
        return None
    copied = stage.target.copy_cost / reads / stage.lanes
    return Candidate(
        chosen[0][-1].cost + copied, explained(parts[0], chosen[0]), (plan, chosen), _label(plan, chosen[0][-1])
    )


def _label(plan: PackingPlan, tile: TileChoice) -> str:
    """The name of a plan and a tile among others, without names of loops."""
    cut = f", bands of {plan.cut[1]}" if plan.cut is not None else ""
    return f"axis {tile.vector}{cut}, tile {tile.tile.rows} x {tile.tile.vectors} x {tile.lanes}"


def _other_cuts(plan: PackingPlan) -> list[tuple[Var, int]]:
    """The loop that is cut, in bands of half the size and of twice the size, if their copies fit."""
    if plan.cut is None:
        return []
    loop, size = plan.cut
    extent = dict(plan.r.loops)[loop]
    step = plan.lanes if loop is plan.along else 1
    sizes = (size // 2 // step * step, min(2 * size, extent))
    return [(loop, n) for n in sizes if 0 < n != size and plan.nbytes((loop, n)) <= plan.target.packed_bytes]


def _packed(stage: Stage, plan: PackingPlan, band: StepBand | None) -> Block[Reduction]:
    """One band of a reduction, with a packed copy."""
    assert stage.padded is not None
    scope = plan.scope(band)
    b, around = cut_band(Block.of(stage.padded), band, plan.outside)
    b = share(b, stage, around) if scope == Scope.LOCAL else b
    b = pack(
        b,
        plan.operand,
        along=b.over(plan.along)[-1],
        lanes=plan.lanes,
        **({} if scope == Scope.LOCAL else {"scope": str(scope)}),
    )
    return compute_at(b, "packed", *(v for v, _ in b.loops[:around][-1:]))


def choose_packing(r: Reduction, target: VectorTarget) -> PackingPlan | None:
    """The operand that prevents vectors, and the parts in which it is copied; None if it cannot be copied."""
    for v, extent in reversed(r.loops):
        simplify = simplifier(r.loops, r.inner)
        if bound(extent) < 4 or any(stride(simplify, s.buffer.offset(s.indices), v) != 1 for s in r.stores):
            continue
        operand = _operand(r, v, simplify)
        plan = _plan(r, v, operand, target, simplify) if operand is not None else None
        if plan is not None:
            return plan
    return None


def _operand(r: Reduction, v: Var, simplify: Simplifier) -> Load | None:
    """The only read that prevents `v` from being the vector axis; None if several do."""
    load: Load | None = None
    guarded = any(depends(g, v) for g in r.guards)
    for e in operands(r):
        step = stride(simplify, e.source.offset(e.indices), v)
        if step == 0 or (step == 1 and not guarded):
            continue
        if load is not None:
            return None
        load = e
    return load


@dataclass(frozen=True)
class PackingPlan:
    """The `operand` of a reduction that is packed for vectors `along` a loop, with the loops `outside` of the copy.

    `cut`: the loop that is cut into bands, and the number of its steps that read one copy.
    """

    r: Reduction
    along: Var
    operand: Load
    outside: tuple[Var, ...]
    limits: Limits
    target: VectorTarget
    simplify: Simplifier
    cut: tuple[Var, int] | None = None

    @property
    def lanes(self) -> int:
        """Elements of a vector of accumulators."""
        return self.target.lanes_of(self.r.acc.dtype)

    def bands(self) -> list[StepBand | None]:
        """The bands of the loop that is cut; a single None without a cut."""
        return [*bands(self.cut[0], dict(self.r.loops)[self.cut[0]], self.cut[1])] if self.cut is not None else [None]

    def scope(self, band: StepBand | None) -> Scope:
        """The scope of the copy of a band."""
        nbytes = self.nbytes((band.loop, band.size) if band is not None else None)
        return Scope.LOCAL if bound(nbytes) <= self.target.scratch_bytes else Scope.GLOBAL

    def nbytes(self, cut: tuple[Var, int] | None) -> int:
        """The size of a copy for some steps of a loop, in bytes."""
        return Buffer("", self.packing(cut).shape, self.operand.dtype).nbytes

    def most_steps(self, loop: Var, steps: range, nbytes: int) -> int:
        """The largest number in `steps` for which a copy takes at most `nbytes`; 0 if all are larger.

        Copies grow with the steps, so that a bisection finds it, however long the loop is.
        """
        fitting = bisect_right(steps, nbytes, key=lambda n: self.nbytes((loop, n)))
        return steps[fitting - 1] if fitting else 0

    def packing(self, cut: tuple[Var, int] | None) -> Packing:
        """The contents of a copy for some steps of a loop."""
        outside = set(self.outside)
        inside = {x: n for x, n in (*self.r.loops, *self.r.inner) if x not in outside}
        if cut is not None:
            inside[cut[0]] = cut[1]
        return Packing.of(self.operand.indices, self.limits, inside, self.along, self.lanes, self.simplify)


def _plan(r: Reduction, v: Var, e: Load, target: VectorTarget, simplify: Simplifier) -> PackingPlan | None:
    """The plan for an operand; None if its indices are not sums of loop variables, or a guard is no bound of it."""
    forms = [simplify.linear(i)[0] for i in e.indices]
    if e.source.layout is not None or any(k < 0 for f in forms for x, k in f.items() if isinstance(x, Var)):
        return None
    if sum(v in f for f in forms) != 1:
        return None
    inner = {x for x, _ in r.inner}
    used = {x for f in forms for x in f}
    # Terms that are no variables (the number of an image in a batch, of a group) must depend on loops around only.
    others = [x for x in used if not isinstance(x, Var)]
    fixed = {x for x, _ in r.loops if any(depends(o, x) for o in others)}
    if v in fixed or any(depends(o, x) for o in others for x in inner):
        return None
    used |= fixed
    rows = [
        x
        for x, _ in r.loops
        if x is not v and x not in fixed and any(x in f and any(k in f for k in inner) for f in forms)
    ]
    row = rows[-1] if rows else None
    outside = tuple(x for x, _ in r.loops if x in used and x is not v and x is not row)
    limits = find_limits(r, e, simplify)
    if limits is None or any(depends(g, v) for g in limits.other_guards):
        return None
    return _choose_cut(PackingPlan(r, v, e, outside, limits, target, simplify), row)


def _choose_cut(plan: PackingPlan, row: Var | None) -> PackingPlan | None:
    """The plan with a loop cut so that a copy fits; None if no cut fits."""
    whole = plan.packing(None)
    if plan.nbytes(None) <= plan.target.scratch_bytes // 2:
        return plan
    if row is not None:
        rows = dict(plan.r.loops)[row]
        fitting = plan.most_steps(row, range(1, rows + 1), plan.target.scratch_bytes // 2) or 1
        count = -(-rows // fitting)
        plan = replace(plan, cut=(row, -(-rows // count)))
    elif whole.step == 1 and len(whole.axes[whole.moving].terms) == 1:
        width = _choose_width(plan)
        if width is None:
            return None
        plan = replace(plan, cut=(plan.along, width))
    return plan if plan.nbytes(plan.cut) <= plan.target.packed_bytes else None


@estimate
def _choose_width(plan: PackingPlan) -> int | None:
    """The elements of the vector axis in a copy: as many as fit on the stack, otherwise a few vectors; None if no number fits."""
    v, extent, lanes = plan.along, dict(plan.r.loops)[plan.along], plan.lanes
    whole = plan.nbytes(None)
    if whole <= plan.target.packed_bytes and 2 * lanes <= extent and whole <= plan.target.scratch_bytes:
        return extent
    multiples = range(lanes, extent + 1, lanes)
    # The remainder must be enough for a narrow vector.
    width = plan.most_steps(v, multiples, plan.target.scratch_bytes)
    width = next((n for n in range(width, lanes, -lanes) if not 0 < extent % n < 4), 0)
    if width:
        return width
    if whole <= plan.target.packed_bytes:
        return extent
    few = [n for n in multiples[:4] if not 0 < extent % n < 4 and plan.nbytes((v, n)) <= plan.target.packed_bytes]
    return few[-1] if few else None
