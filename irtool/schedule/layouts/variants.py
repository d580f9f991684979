"""Variants of kernels for the layouts of their operands."""

from __future__ import annotations

from ...tir.forms import with_buffers
from ...tir.kernel import Kernel
from ...tir.program import RunKernel, Slot
from ...tir.stmt import Buffer, Layout, Scope, blocked, in_panels
from ...tir.vector_target import VectorTarget
from .packed import packed_constant, packed_name
from .preference import LayoutPreference, filled_shape, reorders
from .propagation import propagate
from .tiled_words import tiled_words


def specialise(
    s: RunKernel,
    blocks: dict[Buffer, LayoutPreference],
    chosen: dict[Slot, LayoutPreference],
    shared: dict[Slot, LayoutPreference],
    variants: dict[tuple, Kernel],
    packed: dict[tuple[Slot, Layout], Slot],
    target: VectorTarget,
) -> None:
    """Gives a call the variant of its kernel for the layouts of its operands, and the constants packed for it.

    Args:
        blocks: the blocks of the constants that the call packs.
        chosen: the layouts of the other slots.
        shared: the blocks of constants that other calls pack.
        variants: the existing variants, by kernel and layouts; a missing one is added.
        packed: the existing packed constants, by constant and layout; a missing one is added.
    """
    kernel = s.kernel
    layouts: dict[Buffer, LayoutPreference] = {}
    weights: set[Buffer] = set()
    for n, (slot, b) in enumerate(zip(s.inputs, kernel.inputs)):
        slot = slot.resolve()
        preference = blocks.get(b) or shared.get(slot)
        if preference is not None:
            layouts[b] = preference
            layout = in_panels(filled_shape(b, preference), preference.axis, preference.factor)
            weights.add(b)
            if (slot, layout) not in packed:
                packed[slot, layout] = packed_constant(
                    slot, filled_shape(b, preference), layout, packed_name(slot, packed)
                )
            s.inputs[n] = packed[slot, layout]
        elif slot in chosen:
            layouts[b] = chosen[slot]
    for slot, b in zip(s.outputs, kernel.outputs):
        if slot.resolve() in chosen:
            layouts[b] = chosen[slot.resolve()]
    inner = tiled_words(kernel, weights, target) | _inner_layouts(kernel, layouts)
    key = (id(kernel), tuple((layouts.get(b), b in weights) for b in kernel.params))
    if key not in variants:
        variants[key] = _variant(kernel, {**layouts, **inner}, weights, sum(1 for k in variants if k[0] == id(kernel)))
    s.kernel = variants[key]


def _inner_layouts(kernel: Kernel, layouts: dict[Buffer, LayoutPreference]) -> dict[Buffer, LayoutPreference]:
    after = propagate(kernel, layouts)
    params = set(kernel.params)
    return {b: w for b, w in after.items() if b not in params and b.scope == Scope.GLOBAL and reorders(b, w)}


def _variant(kernel: Kernel, layouts: dict[Buffer, LayoutPreference], weights: set[Buffer], number: int) -> Kernel:
    """The kernel with its buffers in these layouts; `weights` are in panels."""
    if not layouts and not number:
        return kernel
    replaced = {
        b: b.replace(
            shape=filled_shape(b, w),
            layout=(in_panels if b in weights else blocked)(filled_shape(b, w), w.axis, w.factor),
        )
        for b, w in layouts.items()
    }
    name = f"{kernel.name}_layout{number}" if number else kernel.name
    params = [replaced.get(b, b) for b in kernel.params]
    stages = [with_buffers(form, replaced) for form in kernel.stages]
    temporaries = [replaced.get(b, b) for b in kernel.temporaries]
    return kernel.with_stages(stages, name=name, params=params, temporaries=temporaries)
