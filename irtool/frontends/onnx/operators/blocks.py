"""Blocks of images as channels, and the other way round."""

from __future__ import annotations

import math

from ....deferred import np
from ....diagnostics import IrError
from ..counts import require_count, require_counts
from ..memory_limit import counted, filled, require_room
from ..mistakes import DamagedModel
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..value import Value


@onnx_operator("DepthToSpace")
class DepthToSpace(OnnxOperator):
    """Channels as blocks of the image."""

    @since(1, 11, 13, 28, added={"mode": 11})
    def in_order(self, x: Value, *, blocksize: int, mode: str = "DCR") -> Result:
        require_count(blocksize, "blocksize")
        return x.call("nn.depth_to_space", block_size=blocksize, mode=mode)


@onnx_operator("SpaceToDepth")
class SpaceToDepth(OnnxOperator):
    """Blocks of the image as channels."""

    @since(1, 13)
    def depth_first(self, x: Value, *, blocksize: int) -> Result:
        require_count(blocksize, "blocksize")
        return x.call("nn.space_to_depth", block_size=blocksize)

    @since(28)
    def in_order(self, x: Value, *, blocksize: int, mode: str = "DCR") -> Result:
        require_count(blocksize, "blocksize")
        if mode == "DCR":
            return x.call("nn.space_to_depth", block_size=blocksize)
        if mode != "CRD":
            raise IrError(f"mode is {mode}; it can be DCR or CRD", code=DamagedModel)
        batch, channels, height, width = x.extents("the data of SpaceToDepth", rank=4)
        rows, columns = height // blocksize, width // blocksize
        parts = x.call("reshape", newshape=[batch, channels, rows, blocksize, columns, blocksize])
        parts = parts.call("transpose", axes=[0, 1, 3, 5, 2, 4])
        return parts.call("reshape", newshape=[batch, channels * blocksize**2, rows, columns])


@onnx_operator("ReverseSequence")
class ReverseSequence(OnnxOperator):
    """Each sequence of a batch in reverse order, as far as it goes."""

    @since(10, 28)
    def turn(self, x: Value, lengths: Value, *, batch_axis: int = 1, time_axis: int = 0) -> Result:
        return x.call("reverse_sequence", lengths, seq_axis=x.axis(time_axis), batch_axis=x.axis(batch_axis))


@onnx_operator("Col2Im")
class Col2Im(OnnxOperator):
    """Columns of blocks, as a convolution takes them from an image, added up to the image."""

    @since(18)
    def fold(
        self,
        x: Value,
        image_shape: Value,
        block_shape: Value,
        *,
        dilations: tuple[int, ...] | None = None,
        pads: tuple[int, ...] | None = None,
        strides: tuple[int, ...] | None = None,
    ) -> Result:
        image, block = image_shape.ints("the shape of the image"), block_shape.ints("the shape of blocks")
        axes = len(image)
        dilations, strides = dilations or (1,) * axes, strides or (1,) * axes
        pads = pads or (0,) * (2 * axes)
        for name, numbers, count, least in (
            ("the shape of the image", image, axes, 0),
            ("the shape of blocks", block, axes, 1),
            ("dilations", dilations, axes, 1),
            ("strides", strides, axes, 1),
            ("pads", pads, 2 * axes, 0),
        ):
            require_counts(numbers, count, name, least)
        padded = [n + pads[i] + pads[i + axes] for i, n in enumerate(image)]
        positions = _places(padded, block, dilations, strides)
        batch, rows, columns = x.extents("the columns", rank=3)
        if rows % math.prod(block) or rows // math.prod(block) * positions.size != rows * columns:
            raise IrError(f"blocks of {list(block)} of an image of {list(image)} are no {x.tensor}", code=DamagedModel)
        channels = rows // math.prod(block)
        lists = x.call("reshape", newshape=[batch * channels, positions.size]).call("transpose", axes=[1, 0])
        nothing = Value.constant(0, x.dtype).call("full", shape=[math.prod(padded), batch * channels], dtype=x.dtype)
        total = nothing.call("scatter_nd", Value.constant(positions.reshape(1, -1)), lists, mode="add")
        result = total.call("transpose", axes=[1, 0]).call("reshape", newshape=[batch, channels, *padded])
        if not any(pads):
            return result
        return result.call(
            "strided_slice",
            begin=list(pads[:axes]),
            end=[pads[i] + n for i, n in enumerate(image)],
            strides=[1] * axes,
            axes=[2 + i for i in range(axes)],
        )


def _places(
    padded: list[int], block: tuple[int, ...], dilations: tuple[int, ...], strides: tuple[int, ...]
) -> np.ndarray:
    """For each element of a block, and each block, the row-major position in the padded image."""
    what = "the places of blocks"
    positions = filled((1, 1), 0, what, "int64")
    for n, size, dilation, stride in zip(padded, block, dilations, strides, strict=True):
        count = (n - dilation * (size - 1) - 1) // stride + 1
        require_room((*positions.shape, size, max(count, 0)), what)
        along = counted(size, what)[:, None] * dilation + counted(max(count, 0), what)[None, :] * stride
        positions = positions[:, None, :, None] * n + along[None, :, None, :]
        positions = positions.reshape(positions.shape[0] * size, -1)
    return positions.astype("int64")
