"""Dilated windows without the padding that they read for the most part.

    for y in 0 … 15: for k in 0 … 2: acc += (12 <= y + 12 * k < 28 ? x[y + 12 * k - 12] : 0) * w[k]

    ⇒   for y in 0 … 3:   for k in 1 … 2: acc += x[y + 12 * k - 12] * w[k]
        for y in 4 … 11:                  acc += x[y] * w[1]
        for y in 12 … 15: for k in 0 … 1: acc += x[y + 12 * k - 12] * w[k]

Results are partitioned by the steps that are inside of the data, along each axis; each part is a reduction of its own, without
conditions. The excluded products have a zero of the padding, and are zero if the weights are finite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod

from ...symbolic_int import as_integer, estimate
from ...tir.expr import Expr, Load, Var, rewrite
from ...tir.forms import AnyForm, Map, Reduction
from ...tir.kernel import Kernel
from ...tir.simplify import Simplifier
from ...tir.stmt import Store
from ..core.affine import simplifier
from ..core.guards import extract_predicates
from ..cost.machine import FEWEST_RESULTS, LOOKED_AT, MOST_LEFT, WRITTEN_OUT
from .degenerate_loops import solve_steps
from .padded_copy import without_padded_copy
from .slice_domain import Span, slice_domain


@dataclass(frozen=True)
class Axis:
    """An axis of windows: the loop over their positions, if the inside of the data depends on it, and the loop over their
    steps."""

    position: Var | None
    step: Var


@dataclass(frozen=True)
class Range:
    """Positions of windows along an axis, from `first` to before `end`, and their steps inside of the data."""

    first: int
    end: int
    first_step: int
    end_step: int

    @property
    def work(self) -> int:
        """The steps of all positions."""
        return (self.end - self.first) * (self.end_step - self.first_step)


def partition_padded_windows(kernel: Kernel, mark_finite: Callable[[Kernel], Kernel]) -> Kernel:
    """The kernel with a stage in parts, if most of its steps are products with padding; otherwise the kernel itself.

    `mark_finite` marks finite weights. It is called for kernels whose windows are worth the parts if the weights are finite.
    """
    if _partitioned(kernel, formed=True) is None:
        return kernel
    return _partitioned(mark_finite(kernel), formed=False) or kernel


def _partitioned(kernel: Kernel, formed: bool) -> Kernel | None:
    """The kernel with its windows in parts; None if no windows are worth it. `formed`: weights count as finite."""
    forms = kernel.stages
    for n, windows in enumerate(forms):
        if not isinstance(windows, Reduction):
            continue
        for first, opened in ((n, windows), (n - 1, without_padded_copy(forms, n))):
            guarded = extract_predicates(opened, formed) if opened is not None else None
            parts = _parts(guarded) if guarded is not None and guarded.guards else None
            if parts is not None:
                return kernel.with_stages([*forms[:first], *parts, *forms[n + 1 :]])
    return None


def _parts(r: Reduction) -> list[AnyForm] | None:
    """The parts of a reduction with guards; the reduction without them if they allow single steps only."""
    solved = solve_steps(r)
    return partition(solved, r.work) if solved.guards else [solved]


def partition(r: Reduction, work: int = 0) -> list[AnyForm] | None:
    """The parts of a reduction without its guards; None if these exclude too few steps.

    `work`: the number of steps before others were excluded.
    """
    axis_ranges = _ranges(r)
    if axis_ranges is None:
        return None
    extents = dict((*r.loops, *r.inner))
    whole = max(1, work // r.work)
    left = results = 1
    for axis, ranges in axis_ranges.items():
        positions = ranges[-1].end
        whole *= positions * extents[axis.step]
        left *= sum(x.work for x in ranges)
        results *= positions
    parts = parts_of(r, WRITTEN_OUT)
    return parts if parts is not None and _pays(left, whole, results, len(parts)) else None


@estimate
def _pays(left: int, whole: int, results: int, parts: int) -> bool:
    """True if few enough of the steps are left, and each part has enough results."""
    return left <= MOST_LEFT * whole and (parts == 1 or results >= FEWEST_RESULTS * parts)


def parts_of(r: Reduction, most: int) -> list[AnyForm] | None:
    """The parts of a reduction without its guards; None for more than `most` parts, or guards of another kind."""
    axis_ranges = _ranges(r)
    if axis_ranges is None or prod(map(len, axis_ranges.values())) > most:
        return None
    return [_part(r, dict(zip(axis_ranges, chosen, strict=True))) for chosen in product(*axis_ranges.values())]


def _ranges(r: Reduction) -> dict[Axis, list[Range]] | None:
    """The ranges of positions along each axis of windows; None if a guard depends on anything else."""
    axes = _axes(r)
    extents = dict((*r.loops, *r.inner))
    if axes is None or any(extents[a.step] > LOOKED_AT for a in axes):
        return None
    simplify = simplifier(r.loops, r.inner)
    return {a: ranges_of(r.guards, simplify, a, extents) for a in axes}


def _axes(r: Reduction) -> list[Axis] | None:
    """The axes of windows in the guards; None if a guard depends on anything else."""
    simplify = simplifier(r.loops, r.inner)
    loops, inner = {v for v, _ in r.loops}, {v for v, _ in r.inner}
    positions: dict[Var, Var | None] = {}
    for g in r.guards:
        terms, _ = simplify.linear(g)
        variables = [t for t in terms if isinstance(t, Var)]
        steps_of = [t for t in variables if t in inner]
        others = [t for t in variables if t in loops]
        if len(steps_of) != 1 or len(others) > 1 or len(steps_of) + len(others) != len(terms):
            return None
        known = positions.setdefault(steps_of[0], None)
        if others and known is not None and known is not others[0]:
            return None
        positions[steps_of[0]] = others[0] if others else known
    used = [v for v in positions.values() if v is not None]
    return [Axis(v, k) for k, v in positions.items()] if len(set(used)) == len(used) else None


def ranges_of(guards: Sequence[Expr], simplify: Simplifier, axis: Axis, extents: Mapping[Var, int]) -> list[Range]:
    """The ranges of positions with the same steps inside: all guards with the axis' steps are at least 0 for these."""
    bounds = []
    for g in guards:
        terms, rest = simplify.linear(g)
        if axis.step in terms:
            slope = 0 if axis.position is None else terms.get(axis.position, 0)
            bounds.append((as_integer(slope), as_integer(terms[axis.step]), as_integer(rest)))
    count = extents[axis.step]
    positions = 1 if axis.position is None else extents[axis.position]

    def inside(position: int) -> tuple[int, int]:
        first, end = 0, count
        for a, b, rest in bounds:
            least = a * position + rest  # + b * step >= 0
            if b > 0:
                first = max(first, -(least // b))
            else:
                end = min(end, least // -b + 1)
        return (first, end) if first < end else (0, 0)

    cuts = {0}
    for a, b, rest in bounds:
        for step in range(count if a else 0):
            least = b * step + rest  # + a * position >= 0
            cuts.add(-(least // a) if a > 0 else least // -a + 1)
    starts = sorted(n for n in cuts if 0 <= n < positions)
    starts = [n for position, n in enumerate(starts) if not position or inside(n) != inside(starts[position - 1])]
    return [Range(a, b, *inside(a)) for a, b in pairwise([*starts, positions])]


def _part(r: Reduction, chosen: Mapping[Axis, Range]) -> AnyForm:
    """The results of one part."""
    spans = {a.step: Span.between(x.first_step, x.end_step) for a, x in chosen.items()}
    spans.update((a.position, Span.between(x.first, x.end)) for a, x in chosen.items() if a.position is not None)
    steps = {v: spans.get(v, Span(0, n)) for v, n in r.inner}
    single = [v for v in steps if steps[v].count == 1]
    part = slice_domain(r, spans, {v: steps[v].first for v in single[: len(r.inner) - 1]})  # one loop remains
    return part if all(x.work for x in chosen.values()) else _initial(part)


def _initial(r: Reduction) -> Map:
    """The results of a reduction without a step."""

    def initial(e: Expr) -> Expr:
        return r.init if isinstance(e, Load) and e.source is r.acc else e

    return Map(r.loops, tuple(Store(s.buffer, s.indices, rewrite(s.value, initial)) for s in r.stores))
