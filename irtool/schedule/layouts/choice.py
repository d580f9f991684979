"""Layouts that a kernel prefers for its operands.

A reduction is fastest if its vector axis is contiguous in every operand that depends on it: the output channels of a convolution
in its weights and its result, the columns of a matrix product in its second matrix. Blocks of as many elements as a vector has
lanes are contiguous.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...symbolic_int import bound, is_known
from ...tir import dtypes
from ...tir.expr import Binary, Call, Const, Load, Var, post_order
from ...tir.forms import Reduction
from ...tir.kernel import Kernel
from ...tir.stmt import Buffer
from ...tir.vector_target import VectorTarget
from ..core.affine import depends, moves, operands
from ..cost.tile_choice import rows_together, sums_long_words
from ..instructions.matrix_tiles import has_tiles_for
from .channels_last import beside_words, channels_last
from .constants import alike
from .main_reduction import main_reduction
from .preference import LayoutPreference
from .vector_axis import along, filled, moves_by_block
from .whole_vectors import are_single, padded_constants, whole_axis, with_wide_blocks


@dataclass(frozen=True)
class _Candidate:
    """Layouts that make a loop the vector axis.

    Attributes:
        packed: the number of weights that these layouts pack.
        independent: true if all results of a vector share an element of some operand.
        last: the number of results that are contiguous along this axis without blocks.
        factor: elements of a block.
    """

    layouts: dict[Buffer, LayoutPreference]
    packed: int
    independent: bool
    last: int
    factor: int

    @property
    def rank(self) -> tuple[int, ...]:
        """The order of candidates; the highest one is chosen."""
        return self.packed, self.independent, self.last, self.factor


def layout_preferences(
    kernel: Kernel,
    target: VectorTarget,
    constants: frozenset[Buffer],
    scaled: frozenset[Buffer] = frozenset(),
) -> dict[Buffer, LayoutPreference]:
    """The layouts that the kernel's main reduction prefers for its buffers.

    Args:
        constants: the inputs that the build can pack.
        scaled: the inputs that are computed from such constants, element by element.
    """
    forms = [f for f in kernel.stages if isinstance(f, Reduction)]
    if not forms:
        return {}
    r = main_reduction(kernel)
    if r.work < target.blocked_updates or r.acc.dtype not in ("float32", "int32"):
        return {}
    if sums_long_words(r, target):
        return beside_words(kernel, r, constants)
    full = target.lanes(dtypes.itemsize(r.acc.dtype)) * rows_together(r, target)
    if _sums_rows(r, 2 * full):
        return {}
    candidates = [c for v, n in r.loops if (c := _along_loop(r, v, n, full, target, constants, scaled)) is not None]
    best = max(candidates, key=lambda c: c.rank, default=None)
    # Prefer a reduction axis over a short axis without packed constants, such as a few images.
    is_weak = best is None or (not best.packed and best.factor * 2 < full)
    layouts = (_along_summed_axis(r, full, constants) if is_weak else {}) or (best.layouts if best is not None else {})
    return layouts | {b: w for f in forms if f is not r for b, w in alike(f, r, layouts, constants).items()}


def _along_loop(
    r: Reduction,
    v: Var,
    extent: int,
    full: int,
    target: VectorTarget,
    constants: frozenset[Buffer],
    scaled: frozenset[Buffer],
) -> _Candidate | None:
    """The layouts with `v` as the vector axis, in vectors of `full` elements if possible."""
    if not is_known(extent):
        return None
    layouts, factor = _blocks(r, v, extent, full)
    ends = all(s.indices and s.indices[-1] is v for s in r.stores)
    if extent >= full and (layouts is None or factor * 2 < full or (factor < full and ends)):
        alone = padded_constants(r, v, extent, full, constants)
        layouts, factor = (alone, 1) if alone else (layouts, factor)
    least = (
        full if has_tiles_for(r, target) else 2 * full
    )  # a matrix tile may have fewer columns than a vector has elements
    halves = factor * 2 == full and extent >= least
    single = factor == full and extent % full == 0 and are_single(extent // full, target)
    if layouts is not None and target.summed_products > 1 and factor == full and not ends:
        layouts = channels_last(r, v, extent, full, constants) or layouts
    elif layouts is not None and (halves or single) and not ends:
        wide = whole_axis(r, v, extent, full, constants)
        layouts, factor = (wide, full) if wide else (layouts, factor)
    if layouts is None:
        return None
    if factor == full and extent % full == 0:
        layouts = with_wide_blocks(r, v, extent, layouts, full, constants | scaled, target)
    independent = any(not any(moves_by_block(i, v, max(factor, 4)) for i in e.indices) for e in operands(r))
    if not independent and _is_product(r, v, target.copied_steps):
        return None
    # Full vectors along another axis, or with a tail, are better than quarters of vectors.
    quarters = 1 < factor < full / 2
    if quarters and (extent >= full or not independent) and not _has_narrow_groups(r, v, factor):
        return None
    packed = sum(1 for b in layouts if b in constants or b in scaled)
    last = sum(1 for s in r.stores if s.indices and s.indices[-1] is v)
    return _Candidate(layouts, packed, independent, last, factor)


def _blocks(r: Reduction, v: Var, extent: int, full: int) -> tuple[dict[Buffer, LayoutPreference] | None, int]:
    """Blocks of the largest part of a vector that divides the axis, of at least 4 elements."""
    factor = full
    while factor >= 4:
        layouts = filled(along(r, v, factor)) if extent % factor == 0 else None
        if layouts is not None:
            return layouts, factor
        factor //= 2
    return None, 0


def _sums_rows(r: Reduction, least: int) -> bool:
    """True if the reduction sums along the last axes of its operands, which are contiguous already, and each element is read for one
    result: the sums of one buffer, or of the products of two that the gradients of normalizations are. Other operands have one element
    for each sum, such as the mean for a variance."""
    inner = [v for v, _ in r.inner]
    summed = [e for e in operands(r) if any(depends(i, v) for i in e.indices for v in inner)]
    long = {v for v, n in r.inner if bound(n) >= least}
    if len({e.source for e in summed}) == 1:
        return all(e.indices[-1] in long for e in summed)
    results = [v for v, n in r.loops if bound(n) > 1]
    extents = {v: bound(n) for v, n in r.inner}
    return all(_run(e, extents) >= least and all(moves(e, v) for v in results) for e in summed)


def _run(e: Load, extents: Mapping[Var, int]) -> int:
    """The number of neighbouring elements that loops with these extents read one after the other."""
    run = 1
    for i, d in zip(reversed(e.indices), reversed(e.source.shape), strict=True):
        if not isinstance(i, Var) or i not in extents:
            break
        run *= extents[i]
        if extents[i] != d:
            break
    return run


def _is_product(r: Reduction, v: Var, least: int) -> bool:
    """True if every operand is read again for `least` steps of a loop other than `v`, as in a product of matrices.

    In a blocked batch of products, each multiplication needs operands of its own, which is slower than a copy of one matrix.
    """
    others = [x for x, n in r.loops if x is not v and bound(n) >= least]
    read = operands(r)
    return len(read) > 1 and all(any(not moves(e, x) for x in others) for e in read)


def _has_narrow_groups(r: Reduction, v: Var, factor: int) -> bool:
    """True if groups along the axis have `factor` results: the results of another group read other elements."""
    return (
        isinstance(r.update, Binary)
        and isinstance(r.update.b, Call)
        and any(
            isinstance(e, Binary) and e.op == "floordiv" and e.a is v and isinstance(e.b, Const) and e.b.value == factor
            for x in operands(r)
            for e in post_order(*x.indices)
        )
    )


def _along_summed_axis(r: Reduction, factor: int, constants: frozenset[Buffer]) -> dict[Buffer, LayoutPreference]:
    """Blocks along a reduction axis, if too few results are contiguous for a vector: an image of three channels computed from
    many.

    The block is the entire axis if vectors do not divide it.
    """
    for v, extent in r.inner:
        if not is_known(extent):
            continue
        block = factor if extent % factor == 0 else extent
        preferences: dict[Buffer, LayoutPreference] = {}
        for e in operands(r):
            moving = [n for n, i in enumerate(e.indices) if depends(i, v)]
            if len(moving) == 1 and e.indices[moving[0]] is v:
                preferences[e.source] = LayoutPreference(moving[0], block)
            elif moving:
                preferences = {}
                break
        if block * 2 >= factor and len(preferences) > 1 and any(b in constants for b in preferences):
            return preferences
    return {}
