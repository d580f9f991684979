"""Layouts of temporaries and weights, so that kernels read and write whole vectors.

Kernels address elements by their indices; where an element lies is the buffer's affair. So a layout is chosen here for
every slot, after the preferences of the kernels that write and read it, and no kernel needs to transform anything: a
convolution writes its channels in blocks, the pooling after it reads and writes blocks, and what leaves the program is
row-major again because its last kernel writes it so. Weights are packed when the program is built.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from ..tir.equal_data import BEGINNING
from ..tir.forms import with_buffers
from ..tir.kernel import Kernel
from ..tir.program import CONSTANT, TEMP, Branch, Derivation, Program, RunKernel, Slot, kernels_in_use, steps
from ..tir.stmt import Buffer, Layout, Scope, blocked, in_panels
from ..tir.vector_target import VectorTarget
from .affine import depends
from .layout_preference import (
    LayoutPreference,
    constants_along,
    is_elementwise,
    layout_preferences,
    parts_tiles,
    propagate,
    reorders,
    spreads,
)
from .panels import largest_reduction, rows_beside
from .scaled_weights import constants_beside, follow_results
from .shared_weights import shared_weights
from .tile_choice import rows_together
from .tiles import vectors_per_block
from .winograd.choice import saved_cycles
from .winograd.find import convolutions_of


def assign_layouts(program: Program, target: VectorTarget) -> None:
    """Chooses layouts and gives each kernel a variant for the layouts that it meets."""
    plain = row_major_slots(program)
    chosen: dict[Slot, LayoutPreference] = {}
    calls = [s for f in program.functions.values() for s in steps(f.body) if isinstance(s, RunKernel)]
    elementwise = [s for s in calls if not s.kernel.finished and is_elementwise(s.kernel)]
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

    # A slot has the layout that its producer gives it; an element-by-element producer gives what its readers prefer.
    for s in calls:
        for slot, b in zip(s.inputs, s.kernel.inputs):
            slot = slot.resolve()
            preference = preferred[s].get(b)
            if preference is not None and slot in computed and reorders(b, preference) and not spread(slot, preference):
                chosen.setdefault(slot, preference)
    for s in calls:
        after = _blocks_of_results(s, preferred[s], chosen, plain)
        chosen.update((slot, preference) for slot, preference in after.items() if not spread(slot, preference))
    variants: dict[tuple, Kernel] = {}
    packed: dict[tuple[Slot, Layout], Slot] = {}
    packable = {
        s: {
            **_packable(s, _beside_data(s, preferred[s], chosen) or _along_results(s, chosen), target),
            **follow_results(s, chosen),
        }
        for s in calls
    }
    shared = shared_weights(calls, packable, plain)
    for s in calls:
        _specialise(s, packable[s], chosen, shared, variants, packed)
    constants: dict[Slot, None] = {}
    for f in program.functions.values():
        for step in steps(f.body):
            for slot in step.reads:
                if slot.resolve().kind == CONSTANT:
                    constants[slot.resolve()] = None
        for slot in f.results:
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
    """Blocks of channels in the data of convolutions that will be transformed, of those that are computed element by element."""
    k = s.kernel
    free = {b for slot, b in zip(s.inputs, k.inputs) if slot.resolve() in computed}
    if k.finished or not free:
        return {}
    found: dict[Buffer, LayoutPreference] = {}
    for c in convolutions_of(s):
        if c.data.source not in free:
            continue
        axes = [n for n, i in enumerate(c.data.indices) if depends(i, c.channel[0])]
        lanes = target.lanes_of(c.form.acc.dtype)
        if len(axes) == 1 and c.data.source.shape[axes[0]] % lanes == 0 and saved_cycles(c, target) > 0:
            found[c.data.source] = LayoutPreference(axes[0], lanes)
    return found


def _along_results(s: RunKernel, chosen: dict[Slot, LayoutPreference]) -> dict[Buffer, LayoutPreference]:
    """What a call that prefers nothing wants of its constants, since its operands are in blocks as it is."""
    if s.kernel.finished:
        return {}
    inputs = [(slot.resolve(), b) for slot, b in zip(s.inputs, s.kernel.inputs)]
    layouts = {b: chosen[slot] for slot, b in inputs if slot in chosen}
    constants = frozenset(b for slot, b in inputs if slot.kind == CONSTANT)
    return constants_along(s.kernel, layouts, constants) if layouts and constants else {}


def _beside_data(
    s: RunKernel, preferred: dict[Buffer, LayoutPreference], chosen: dict[Slot, LayoutPreference]
) -> dict[Buffer, LayoutPreference]:
    """What a call prefers, with the constants along a summed axis in the blocks that the data has there, which may be others than it
    asked for."""
    sums = {
        (b.shape[w.axis], w.factor): chosen[slot.resolve()].factor
        for slot, b in zip(s.inputs, s.kernel.inputs)
        if (w := preferred.get(b)) is not None and slot.resolve() in chosen
        if chosen[slot.resolve()].axis == w.axis and chosen[slot.resolve()].factor != w.factor
    }
    constants = {b for slot, b in zip(s.inputs, s.kernel.inputs) if slot.resolve().kind == CONSTANT}
    if not sums or any(b in preferred for b in s.kernel.outputs):
        return preferred
    return {
        b: replace(w, factor=sums.get((b.shape[w.axis], w.factor), w.factor)) if b in constants else w
        for b, w in preferred.items()
    }


def row_major_slots(program: Program) -> set[Slot]:
    """Slots whose order somebody else relies on: copied, passed to functions, or seen under two shapes."""
    slots: set[Slot] = set()
    for f in program.functions.values():
        for s in steps(f.body):
            if isinstance(s, RunKernel):
                for slot, b in zip([*s.inputs, *s.outputs], s.kernel.params):
                    if slot.resolve().shape != b.shape or s.kernel.finished:
                        slots.add(slot.resolve())
            else:
                # The results of a branch are written by steps of its arms, in whatever order those have.
                named = s.reads if isinstance(s, Branch) else (*s.reads, *s.writes)
                slots.update(x.resolve() for x in named)
    return slots


def _blocks_of_results(
    s: RunKernel, preferred: dict[Buffer, LayoutPreference], chosen: dict[Slot, LayoutPreference], plain: set[Slot]
) -> dict[Slot, LayoutPreference]:
    """What a call would give those of its results that have no layout yet."""
    layouts: dict[Buffer, LayoutPreference] = {}
    for slot, b in zip(s.inputs, s.kernel.inputs):
        if slot.resolve() in chosen:
            layouts[b] = chosen[slot.resolve()]
    for b in s.kernel.outputs:
        if b in preferred:
            layouts[b] = preferred[b]
    after = propagate(s.kernel, layouts)
    found: dict[Slot, LayoutPreference] = {}
    for slot, b in zip(s.outputs, s.kernel.outputs):
        slot = slot.resolve()
        preference = after.get(b)
        if preference is None or slot in chosen or slot.kind != TEMP or slot in plain or not reorders(b, preference):
            continue
        found[slot] = preference
    return found


def _specialise(
    s: RunKernel,
    blocks: dict[Buffer, LayoutPreference],
    chosen: dict[Slot, LayoutPreference],
    shared: dict[Slot, LayoutPreference],
    variants: dict[tuple, Kernel],
    packed: dict[tuple[Slot, Layout], Slot],
) -> None:
    kernel = s.kernel
    layouts: dict[Buffer, LayoutPreference] = {}
    weights: set[Buffer] = set()
    for n, (slot, b) in enumerate(zip(s.inputs, kernel.inputs)):
        slot = slot.resolve()
        wanted = blocks.get(b) or shared.get(slot)
        if wanted is not None:
            layouts[b] = wanted
            layout = in_panels(_shape(b, wanted), wanted.axis, wanted.factor)
            weights.add(b)
            if (slot, layout) not in packed:
                packed[slot, layout] = _packed(slot, _shape(b, wanted), layout, _packed_name(slot, packed))
            s.inputs[n] = packed[slot, layout]
        elif slot in chosen:
            layouts[b] = chosen[slot]
    for slot, b in zip(s.outputs, kernel.outputs):
        if slot.resolve() in chosen:
            layouts[b] = chosen[slot.resolve()]
    inner = _inner_layouts(kernel, layouts)
    key = (id(kernel), tuple((layouts.get(b), b in weights) for b in kernel.params))
    if key not in variants:
        variants[key] = _variant(kernel, {**layouts, **inner}, weights, sum(1 for k in variants if k[0] == id(kernel)))
    s.kernel = variants[key]


def _packable(
    s: RunKernel, preferred: dict[Buffer, LayoutPreference], target: VectorTarget
) -> dict[Buffer, LayoutPreference]:
    """The blocks of those constants that a call reads in the order of its own."""
    spatial = any(o in preferred for o in s.kernel.outputs)
    return {
        b: _grouped(b, preferred[b], spatial, s.kernel, target)
        for slot, b in zip(s.inputs, s.kernel.inputs)
        if slot.resolve().kind == CONSTANT and slot.resolve().shape == b.shape
        if b in preferred and reorders(b, preferred[b])
    }


def _grouped(
    b: Buffer, preference: LayoutPreference, spatial: bool, kernel: Kernel, target: VectorTarget
) -> LayoutPreference:
    """Blocks of as many vectors as a tile of the kernel takes, along an axis of the results."""
    if not spatial and not preference.padded:
        return preference
    factor, padded = preference.factor, preference.padded
    vectors = _shape(b, preference)[preference.axis] // factor
    together = rows_together(largest_reduction(kernel), target)
    far = b.nbytes > target.l2_cache_bytes
    width = vectors_per_block(vectors, rows_beside(kernel, b), target, bool(padded), far, together)
    if padded:
        padded = -(-vectors // width) * width * factor
    return LayoutPreference(preference.axis, factor * width, padded)


def _shape(b: Buffer, preference: LayoutPreference) -> tuple[int, ...]:
    return tuple(preference.padded or d if n == preference.axis else d for n, d in enumerate(b.shape))


def _inner_layouts(kernel: Kernel, layouts: dict[Buffer, LayoutPreference]) -> dict[Buffer, LayoutPreference]:
    after = propagate(kernel, layouts)
    params = set(kernel.params)
    return {b: w for b, w in after.items() if b not in params and b.scope == Scope.GLOBAL and reorders(b, w)}


def _variant(kernel: Kernel, layouts: dict[Buffer, LayoutPreference], weights: set[Buffer], number: int) -> Kernel:
    """The kernel with buffers in these layouts; of `weights` in panels."""
    if not layouts and not number:
        return kernel
    replaced = {
        b: Buffer(
            b.name,
            _shape(b, w),
            b.dtype,
            b.scope,
            (in_panels if b in weights else blocked)(_shape(b, w), w.axis, w.factor),
        )
        for b, w in layouts.items()
    }
    name = f"{kernel.name}_layout{number}" if number else kernel.name
    params = [replaced.get(b, b) for b in kernel.params]
    stages = [with_buffers(form, replaced) for form in kernel.stages]
    temporaries = [replaced.get(b, b) for b in kernel.temporaries]
    return kernel.with_stages(stages, name=name, params=params, temporaries=temporaries)


def _packed_name(slot: Slot, packed: dict[tuple[Slot, Layout], Slot]) -> str:
    """That of the weight, with a number where it is packed in several ways; constants without a name are numbered."""
    if slot.name.startswith("constant_"):
        return f"packed_{len(packed)}"
    ways = sum(s is slot for s, _ in packed)
    return f"{slot.name}_packed{ways + 1 if ways else ''}"


def _packed(slot: Slot, shape: tuple[int, ...], layout: Layout, name: str) -> Slot:
    """A constant in another order, filled up with zeros to a shape."""

    def compute(data: Any) -> Any:
        if shape != data.shape:
            import numpy as np

            data = np.pad(data, [(0, n - d) for n, d in zip(shape, data.shape)])
        return pack(data, layout)

    derivation = Derivation(slot, ("packed", shape, layout), compute, lambda data: _begin(data, layout))
    return Slot(name, shape, slot.dtype, CONSTANT, derivation=derivation)


def _begin(data: Any, layout: Layout) -> bytes:
    """The beginning of an array in a layout."""
    import numpy as np

    extents = [extent for _, _, extent in layout]
    count = min(BEGINNING, math.prod(extents))
    places = np.zeros((data.ndim, count), dtype="int64")
    for (axis, divisor, _), digits in zip(layout, np.unravel_index(np.arange(count), extents), strict=True):
        places[axis] += digits * divisor
    inside = np.all(places < np.array(data.shape)[:, None], axis=0)
    found = np.zeros(count, data.dtype)
    found[inside] = data[tuple(places[:, inside])]
    return found.tobytes()


def pack(data: Any, layout: Layout) -> Any:
    """A row-major array with its elements in the order of the layout (of the same shape, so as flat memory)."""
    import numpy as np

    split: list[int] = []
    position: dict[tuple[int, int], int] = {}
    for axis in range(data.ndim):
        digits = sorted(((d, e) for a, d, e in layout if a == axis), reverse=True)
        for divisor, extent in digits:
            position[axis, divisor] = len(split)
            split.append(extent)
    order = [position[axis, divisor] for axis, divisor, _ in layout]
    return np.ascontiguousarray(data.reshape(split).transpose(order)).reshape(data.shape)
