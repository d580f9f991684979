"""The main reduction of a kernel, and the number of results that read the same weights."""

from __future__ import annotations

from ...tir.forms import Reduction
from ...tir.kernel import Kernel
from ...tir.stmt import Buffer
from ..core.affine import depends, loads
from ..core.axes import fuse_axes


def rows_beside(kernel: Kernel, weights: Buffer) -> int:
    """The number of neighbouring results that read the same element of an operand of the kernel's main reduction: the pixels of a
    1x1 convolution, or of a row of an image; the rows of a product."""
    r = fuse_axes(main_reduction(kernel))
    moving = [i for e in loads(r.update) if e.source is weights for i in e.indices]
    free = [n for v, n in r.loops if n != 1 and not any(depends(i, v) for i in moving)]
    return free[-1] if free else 1


def main_reduction(kernel: Kernel) -> Reduction:
    """The kernel's reduction with the most updates."""
    return max((f for f in kernel.stages if isinstance(f, Reduction)), key=lambda f: f.work)
