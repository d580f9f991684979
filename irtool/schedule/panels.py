"""How many vectors of weights lie side by side: as many as a register tile takes, so that it reads one stream."""

from __future__ import annotations

from ..tir.forms import Reduction
from ..tir.kernel import Kernel
from ..tir.stmt import Buffer
from ..tir.vector_target import VectorTarget
from .affine import depends, loads
from .axes import fuse_axes
from .tiles import choose_tile, tile_cost

_WIDEST = 4


def vectors_per_block(
    vectors: int, rows: int, target: VectorTarget, may_pad: bool, far: bool = False, together: int = 1
) -> int:
    """The width of the blocks, in vectors, with which tiles of that many rows and vectors cost least. `may_pad`: the last block may
    be filled up with zeros; otherwise the width divides the vectors. `far`, `together`: see `choose_tile`."""
    best = (float("inf"), 1)
    for width in range(min(vectors, _WIDEST), 0, -1):
        whole = -(-vectors // width) * width
        if whole > vectors and not may_pad:
            continue
        tile = choose_tile(rows, whole, target, block=width, far=far, together=together)
        if tile.vectors != width > 1 and ((far and tile.rows == rows) or width % tile.vectors == 0):
            continue  # it would read a part of each block, and later another
        cost = tile_cost(rows, whole, tile, target, together) * whole / vectors
        if cost < best[0] * (1 - 1e-6):
            best = (cost, width)
    return best[1]


def rows_beside(kernel: Kernel, weights: Buffer) -> int:
    """Neighbouring results that read the same element of an operand of the kernel's largest reduction: the pixels of a 1x1
    convolution, or those of a row of an image; the rows of a product."""
    r = fuse_axes(largest_reduction(kernel))
    moving = [i for e in loads(r.update) if e.source is weights for i in e.indices]
    free = [n for v, n in r.loops if n > 1 and not any(depends(i, v) for i in moving)]
    return free[-1] if free else 1


def largest_reduction(kernel: Kernel) -> Reduction:
    """The kernel's reduction with the most updates."""
    return max((f for f in kernel.stages if isinstance(f, Reduction)), key=lambda f: f.work)
