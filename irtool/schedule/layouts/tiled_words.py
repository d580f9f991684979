"""Blocks for words that a kernel packs by itself from data in another order, such as the planes of an image.

Words of a sum that are contiguous fill the row of a matrix tile, whatever the order of the numbers that they are packed from.
"""

from __future__ import annotations

from ...symbolic_int import is_known
from ...tir.forms import Map, Reduction
from ...tir.kernel import Kernel
from ...tir.stmt import Buffer
from ...tir.vector_target import VectorTarget
from ..core.affine import depends, operands
from ..cost.machine import FEWEST_LANES
from ..instructions.matrix_tiles import WORDS, has_tiles_for
from .preference import LayoutPreference, reorders


def tiled_words(kernel: Kernel, weights: set[Buffer], target: VectorTarget) -> dict[Buffer, LayoutPreference]:
    """The blocks of words that a stage packs for sums of products with `weights`: as many as a row of a matrix tile has, or all of a sum
    that such blocks do not divide."""
    packed = {s.buffer for f in kernel.stages if isinstance(f, Map) for s in f.stores if s.buffer in kernel.temporaries}
    preferences: dict[Buffer, LayoutPreference] = {}
    for r in kernel.stages:
        if not isinstance(r, Reduction) or not has_tiles_for(r, target) or any(not is_known(n) for _, n in r.inner):
            continue
        read = operands(r)
        if not any(e.source in weights for e in read):
            continue
        for e in (x for x in read if x.source in packed):
            for v, extent in r.inner:
                axes = [n for n, i in enumerate(e.indices) if depends(i, v)]
                if len(axes) != 1 or e.indices[axes[0]] is not v or extent <= FEWEST_LANES:
                    continue
                preference = LayoutPreference(axes[0], WORDS if extent % WORDS == 0 else extent)
                if reorders(e.source, preference):
                    preferences[e.source] = preference
    return preferences
