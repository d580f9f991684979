"""Tensors whose scales hold for blocks along an axis."""

from __future__ import annotations

from ...diagnostics import IrError
from .counts import require_count
from .mistakes import DamagedModel
from .quantities import Quantities
from .value import Value


def in_blocks(x: Value, q: Quantities, axis: int, size: int) -> tuple[Value, Quantities]:
    """The tensor with an axis split into blocks, and quantities that broadcast against it.

    A last block that is short is filled up: `out_of_blocks` removes the padding.

    Raises IrError if scale and zero point do not have an element for each block.
    """
    require_count(size, "block_size")
    shape = x.extents("a tensor that is quantized in blocks")
    count = -(-shape[axis] // size)
    expected = (*shape[:axis], count, *shape[axis + 1 :])
    for part, what in ((q.scale, "scale"), (q.zero, "zero point")):
        if part.rank and tuple(part.shape) != expected:
            raise IrError(
                f"the {what} has the shape {part.shape}, and the blocks of {size} are {expected}", code=DamagedModel
            )
    missing = count * size - shape[axis]
    if missing:
        width = [(0, missing if k == axis else 0) for k in range(len(shape))]
        x = x.call("nn.pad", Value.constant(0, x.dtype), pad_width=width)
    split = x.call("reshape", newshape=[*shape[:axis], count, size, *shape[axis + 1 :]])
    return split, Quantities(_with_block_axis(q.scale, axis), _with_block_axis(q.zero, axis))


def _with_block_axis(x: Value, axis: int) -> Value:
    return x.call("expand_dims", axis=axis + 1) if x.rank else x


def out_of_blocks(x: Value, axis: int, extent: int) -> Value:
    """The tensor with the two axes as one again, of that extent."""
    shape = x.extents("a tensor that is quantized in blocks")
    axis %= len(shape) - 1
    whole = shape[axis] * shape[axis + 1]
    x = x.call("reshape", newshape=[*shape[:axis], whole, *shape[axis + 2 :]])
    return x if extent == whole else x.call("strided_slice", begin=[0], end=[extent], strides=[1], axes=[axis])
