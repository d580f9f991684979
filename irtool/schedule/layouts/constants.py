"""Layouts of constants, which follow those of the other operands and of the results of a call.

Weights have the blocks of the results along the axis of the results, even if the call does not prefer them: the weights of a
depthwise convolution whose data are in blocks of half a vector. Along a reduction axis they have the blocks of the data.
"""

from __future__ import annotations

from ...tir.expr import Var
from ...tir.forms import Reduction
from ...tir.kernel import Kernel
from ...tir.program import CONSTANT, RunKernel, Slot
from ...tir.stmt import Buffer
from ...tir.vector_target import VectorTarget
from ..core.affine import depends, operands
from ..cost.register_tiles import vectors_per_block
from ..cost.tile_choice import rows_together
from .main_reduction import main_reduction, rows_beside
from .preference import LayoutPreference, filled_shape, reorders
from .propagation import propagate
from .vector_axis import along, filled


def packed_constants(
    s: RunKernel, preferred: dict[Buffer, LayoutPreference], chosen: dict[Slot, LayoutPreference], target: VectorTarget
) -> dict[Buffer, LayoutPreference]:
    """The blocks of the constants that a call packs, from its preferences and from the layouts `chosen` for the other slots."""
    spatial = any(o in preferred for o in s.kernel.outputs)
    preferences = preferred if spatial else preferred | _beside_data(s, preferred, chosen)
    return {
        b: _grouped(b, preferences[b], spatial, s.kernel, target)
        for slot, b in zip(s.inputs, s.kernel.inputs)
        if slot.resolve().kind == CONSTANT and slot.resolve().shape == b.shape
        if b in preferences and reorders(b, preferences[b])
    }


def _beside_data(
    s: RunKernel, preferred: dict[Buffer, LayoutPreference], chosen: dict[Slot, LayoutPreference]
) -> dict[Buffer, LayoutPreference]:
    """The constants of a call in the blocks of its data; if the call has preferences, only constants that it prefers in blocks
    along the same axis."""
    inputs = [(slot.resolve(), b) for slot, b in zip(s.inputs, s.kernel.inputs)]
    data = {b: chosen[slot] for slot, b in inputs if slot in chosen}
    constants = frozenset(b for slot, b in inputs if slot.kind == CONSTANT and (b in preferred or not preferred))
    reductions = [f for f in s.kernel.stages if isinstance(f, Reduction)]
    if s.kernel.finished or not data or not constants or not reductions:
        return {}
    layouts = propagate(s.kernel, data)
    if not preferred:
        along_results = _along_results(main_reduction(s.kernel), layouts, constants)
        if along_results is not None:
            return along_results
    along_sums = {b: w for r in reductions for b, w in _along_sum(r, layouts, constants).items()}
    return {b: w for b, w in along_sums.items() if not preferred or preferred[b].axis == w.axis}


def _along_results(
    r: Reduction, layouts: dict[Buffer, LayoutPreference], constants: frozenset[Buffer]
) -> dict[Buffer, LayoutPreference] | None:
    """The constants of a reduction in blocks along the blocked axis of its result; None if the result has no blocks."""
    for s in r.stores:
        preference = layouts.get(s.buffer)
        v = s.indices[preference.axis] if preference is not None else None
        if preference is not None and isinstance(v, Var):
            result_layouts = filled(along(r, v, preference.factor)) or {}
            return {b: w for b, w in result_layouts.items() if b in constants}
    return None


def _along_sum(
    r: Reduction, layouts: dict[Buffer, LayoutPreference], constants: frozenset[Buffer]
) -> dict[Buffer, LayoutPreference]:
    """The constants of a reduction in the blocks of another operand along a reduction axis."""
    read, summed = operands(r), {v for v, _ in r.inner}
    for e in read:
        preference = layouts.get(e.source)
        v = e.indices[preference.axis] if preference is not None else None
        if preference is None or not isinstance(v, Var) or v not in summed:
            continue
        preferences: dict[Buffer, LayoutPreference] = {}
        for o in read:
            moving = [n for n, i in enumerate(o.indices) if depends(i, v)]
            if o.source in constants and len(moving) == 1 and o.indices[moving[0]] is v:
                preferences[o.source] = LayoutPreference(moving[0], preference.factor)
        return preferences
    return {}


def _grouped(
    b: Buffer, preference: LayoutPreference, spatial: bool, kernel: Kernel, target: VectorTarget
) -> LayoutPreference:
    """Blocks of as many vectors as a tile of the kernel has, along an axis of the results."""
    if not spatial and not preference.padded:
        return preference
    factor, padded = preference.factor, preference.padded
    vectors = filled_shape(b, preference)[preference.axis] // factor
    together = rows_together(main_reduction(kernel), target)
    far = b.nbytes > target.l2_cache_bytes
    width = vectors_per_block(vectors, rows_beside(kernel, b), target, bool(padded), far, together)
    if padded:
        padded = -(-vectors // width) * width * factor
    return LayoutPreference(preference.axis, factor * width, padded)


def alike(
    other: Reduction, r: Reduction, layouts: dict[Buffer, LayoutPreference], constants: frozenset[Buffer]
) -> dict[Buffer, LayoutPreference]:
    """The preferences for constants of a reduction that reads them as another reduction reads its own, such as the next phase of
    a strided transposed convolution."""
    ours, other_operands = operands(r), operands(other)
    preferences: dict[Buffer, LayoutPreference] = {}
    for a, b in zip(ours, other_operands) if len(ours) == len(other_operands) else ():
        preference = layouts.get(a.source)
        if a.source is b.source:
            continue
        if preference is None or not {a.source, b.source} <= constants or b.source in layouts:
            return {}
        if len(a.indices) != len(b.indices) or a.source.shape[preference.axis] != b.source.shape[preference.axis]:
            return {}
        preferences[b.source] = preference
    return preferences
