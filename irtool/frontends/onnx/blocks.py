"""Tensors whose scales hold for blocks along an axis."""

from __future__ import annotations

from ...diagnostics import IrError
from .counts import require_count
from .mistakes import DamagedModel
from .quantities import Quantities
from .value import Value


def in_blocks(x: Value, q: Quantities, axis: int, size: int) -> tuple[Value, Quantities]:
    """The tensor with an axis split in two, blocks and what is in them, and quantities that broadcast against it.

    Raises IrError where scale and zero point do not have an element for each block.
    """
    require_count(size, "block_size")
    shape = x.extents("a tensor that is quantized in blocks")
    count = -(-shape[axis] // size)
    wanted = (*shape[:axis], count, *shape[axis + 1 :])
    for part, what in ((q.scale, "scale"), (q.zero, "zero point")):
        if part.rank and tuple(part.shape) != wanted:
            raise IrError(
                f"the {what} has the shape {part.shape}, and the blocks of {size} are {wanted}", code=DamagedModel
            )
    if shape[axis] % size:
        raise IrError(f"axis {axis} has {shape[axis]} elements, which is no multiple of the block size {size}")
    split = x.call("reshape", newshape=[*shape[:axis], count, size, *shape[axis + 1 :]])
    return split, Quantities(_beside(q.scale, axis), _beside(q.zero, axis))


def _beside(x: Value, axis: int) -> Value:
    return x.call("expand_dims", axis=axis + 1) if x.rank else x


def out_of_blocks(x: Value, axis: int) -> Value:
    """The tensor with the two axes as one again."""
    shape = x.extents("a tensor that is quantized in blocks")
    axis %= len(shape) - 1
    return x.call("reshape", newshape=[*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]])
