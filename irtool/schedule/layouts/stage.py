"""Layouts of temporaries and weights, so that kernels read and write whole vectors.

Kernels address elements by their indices; the buffer maps indices to memory. So a layout is chosen here for every slot, from the
preferences of the kernels that write and read it, and no kernel needs a conversion: a convolution writes its channels in blocks,
the pooling after it reads and writes blocks, and the last kernel writes the program's outputs in row-major order. The build packs
the weights.
"""

from __future__ import annotations

from ...tir.forms import Map
from ...tir.kernel import Kernel
from ...tir.program import CONSTANT, TEMP, Fork, Program, RunKernel, Slot, kernels_in_use, steps
from ...tir.stmt import Buffer, Layout
from ...tir.vector_target import VectorTarget
from ..core.affine import depends
from ..cost.winograd import better_transform
from ..strategies.winograd.find import convolutions_of
from .choice import layout_preferences
from .constants import packed_constants
from .preference import LayoutPreference, reorders
from .propagation import parts_tiles, propagate, spreads
from .scaled_weights import constants_beside, follow_results
from .shared_weights import shared_weights
from .variants import specialise
from .whole_vectors import in_tile_rows


def assign_layouts(program: Program, target: VectorTarget) -> None:
    """Chooses layouts and gives each call the variant of its kernel for the layouts of its operands."""
    plain = row_major_slots(program)
    chosen: dict[Slot, LayoutPreference] = {}
    calls = [s for f in program.functions.values() for s in steps(f.body) if isinstance(s, RunKernel)]
    elementwise = [s for s in calls if not s.kernel.finished and all(isinstance(f, Map) for f in s.kernel.stages)]
    maps = {slot.resolve() for s in elementwise for slot in s.outputs}
    single = [s for s in elementwise if len(s.outputs) == 1]
    weights = {s.outputs[0].resolve() for s in single if constants_beside(s)} - plain
    computed = {slot for slot in maps - plain if slot.kind == TEMP}
    preferred = {s: {**_of_transformed_data(s, target, computed), **_preferences_of(s, target, weights)} for s in calls}
    readers: dict[Slot, list[tuple[RunKernel, Buffer]]] = {}
    for s in calls:
        for slot, b in zip(s.inputs, s.kernel.inputs):
            readers.setdefault(slot.resolve(), []).append((s, b))

    def spread(slot: Slot, preference: LayoutPreference) -> bool:
        return any(
            spreads(r.kernel, b, preference, preferred[r]) or parts_tiles(r.kernel, b, preference, target)
            for r, b in readers.get(slot, ())
        )

    # A slot has the layout of its producer; an elementwise producer uses the layout that readers prefer.
    for s in calls:
        for slot, b in zip(s.inputs, s.kernel.inputs):
            slot = slot.resolve()
            preference = preferred[s].get(b)
            if preference is not None and slot in computed and reorders(b, preference) and not spread(slot, preference):
                chosen.setdefault(slot, preference)
    for s in calls:
        after = _blocks_of_results(s, preferred[s], chosen, plain, target)
        chosen.update((slot, preference) for slot, preference in after.items() if not spread(slot, preference))
    variants: dict[tuple, Kernel] = {}
    packed: dict[tuple[Slot, Layout], Slot] = {}
    packable = {s: packed_constants(s, preferred[s], chosen, target) | follow_results(s, chosen) for s in calls}
    shared = shared_weights(calls, packable, plain)
    for s in calls:
        specialise(s, packable[s], chosen, shared, variants, packed, target)
    constants: dict[Slot, None] = {}
    for f in program.functions.values():
        for step in steps(f.body):
            for slot in step.reads:
                if slot.resolve().kind == CONSTANT:
                    constants[slot.resolve()] = None
        for slot in f.outer:
            if slot.resolve().kind == CONSTANT:
                constants[slot.resolve()] = None
    program.kernels = kernels_in_use(program)
    program.constants = list(constants)


def _preferences_of(s: RunKernel, target: VectorTarget, weights: set[Slot]) -> dict[Buffer, LayoutPreference]:
    if s.kernel.finished:
        return {}
    inputs = [(slot.resolve(), b) for slot, b in zip(s.inputs, s.kernel.inputs)]
    constants = frozenset(b for slot, b in inputs if slot.kind == CONSTANT)
    scaled = frozenset(b for slot, b in inputs if slot in weights and slot.shape == b.shape)
    return layout_preferences(s.kernel, target, constants, scaled)


def _of_transformed_data(s: RunKernel, target: VectorTarget, computed: set[Slot]) -> dict[Buffer, LayoutPreference]:
    """Blocks of channels for the data of convolutions that Winograd will transform, if an elementwise kernel computes the
    data."""
    k = s.kernel
    free = {b for slot, b in zip(s.inputs, k.inputs) if slot.resolve() in computed}
    if k.finished or not free:
        return {}
    preferences: dict[Buffer, LayoutPreference] = {}
    for c in convolutions_of(s):
        if c.data.source not in free:
            continue
        axes = [n for n, i in enumerate(c.data.indices) if depends(i, c.channel[0])]
        lanes = target.lanes_of(c.form.acc.dtype)
        if len(axes) == 1 and c.data.source.shape[axes[0]] % lanes == 0 and better_transform(c, target, layouts=False):
            preferences[c.data.source] = LayoutPreference(axes[0], lanes)
    return preferences


def _blocks_of_results(
    s: RunKernel,
    preferred: dict[Buffer, LayoutPreference],
    chosen: dict[Slot, LayoutPreference],
    plain: set[Slot],
    target: VectorTarget,
) -> dict[Slot, LayoutPreference]:
    """The layouts that a call gives its results, without those that have a layout already."""
    layouts: dict[Buffer, LayoutPreference] = {}
    for slot, b in zip(s.inputs, s.kernel.inputs):
        if slot.resolve() in chosen:
            layouts[b] = chosen[slot.resolve()]
    for b in s.kernel.outputs:
        if b in preferred:
            layouts[b] = preferred[b]
    after = propagate(s.kernel, layouts)
    preferences: dict[Slot, LayoutPreference] = {}
    for slot, b in zip(s.outputs, s.kernel.outputs):
        slot = slot.resolve()
        preference = after.get(b)
        if preference is not None and b not in preferred:
            preference = in_tile_rows(b, preference, target)
        if preference is None or slot in chosen or slot.kind != TEMP or slot in plain or not reorders(b, preference):
            continue
        preferences[slot] = preference
    return preferences


def row_major_slots(program: Program) -> set[Slot]:
    """Slots that must stay row-major: copied, passed to functions, or seen under two shapes."""
    slots: set[Slot] = set()
    for f in program.functions.values():
        for s in steps(f.body):
            if isinstance(s, RunKernel):
                for slot, b in zip([*s.inputs, *s.outputs], s.kernel.params):
                    if slot.resolve().shape != b.shape or s.kernel.finished:
                        slots.add(slot.resolve())
            else:
                # The steps of its arms write the results of a branch, in any layout.
                named = s.reads if isinstance(s, Fork) else (*s.reads, *s.writes)
                slots.update(x.resolve() for x in named)
    return slots
