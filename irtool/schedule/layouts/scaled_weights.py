"""Weights that the program computes from constants element by element, such as those scaled by squeeze-and-excitation.

    scaled[o, c] = weight[o, c] * scale[c]          ⇒          scaled[o/16, c, o%16] = weight[o/16, c, o%16] * scale[c]

A convolution needs them in blocks like other weights. The build packs the constant in the same blocks, so that nothing is
transposed.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...tir.forms import Map
from ...tir.nodes import Const, Expr
from ...tir.program import CONSTANT, RunKernel, Slot
from ...tir.stmt import Buffer
from ..core.affine import loads
from .preference import LayoutPreference


def constants_beside(s: RunKernel) -> list[Buffer]:
    """The constants of an elementwise kernel of one result that it reads at the indices of its store only."""
    (out,) = s.kernel.outputs
    stores = [store for f in s.kernel.stages if isinstance(f, Map) for store in f.stores]
    result_indices = [store.indices for store in stores if store.buffer is out]
    if len(result_indices) != 1:
        return []
    every = [e for store in stores for e in loads(store.value, *store.indices)]
    buffers: list[Buffer] = []
    for slot, b in zip(s.inputs, s.kernel.inputs):
        slot = slot.resolve()
        if slot.kind != CONSTANT or slot.shape != b.shape or b.shape != out.shape:
            continue
        read = [e for e in every if e.source is b]
        if read and all(all(map(_is_same, e.indices, result_indices[0])) for e in read):
            buffers.append(b)
    return buffers


def _is_same(a: Expr, b: Expr) -> bool:
    """True if two indices of one stage are the same; `==` would build a comparison of them."""
    return a is b or (isinstance(a, Const) and isinstance(b, Const) and a.value == b.value)


def follow_results(s: RunKernel, chosen: Mapping[Slot, LayoutPreference]) -> dict[Buffer, LayoutPreference]:
    """The constants of an elementwise kernel in the blocks that were chosen for its result, if it reads them at the same
    indices."""
    if len(s.outputs) != 1 or s.kernel.finished or not all(isinstance(f, Map) for f in s.kernel.stages):
        return {}
    preference = chosen.get(s.outputs[0].resolve())
    return {} if preference is None else dict.fromkeys(constants_beside(s), preference)
