"""Convolutions whose taps are moved by data."""

from __future__ import annotations

from ....deferred import np
from ....diagnostics import IrError
from ..arithmetic import add, multiply
from ..counts import require_count
from ..memory_limit import counted, require_room
from ..mistakes import DamagedModel, UnsupportedNode
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..sliding import Windows
from ..tuples import concatenate
from ..value import Value


@onnx_operator("DeformConv")
class DeformConv(OnnxOperator):
    """A convolution of `(N, C, H, W)` each of whose taps is moved by `offset` (pairs of y and x) and multiplied by `mask`.

    The data is sampled at all taps first, then taken together by a convolution of one pixel: nn.deformable_conv2d has no mask,
    and sees nothing of a tap that is less than a pixel before the data.
    """

    @since(19, 22)
    def deformable(
        self,
        x: Value,
        w: Value,
        offset: Value,
        b: Value | None = None,
        mask: Value | None = None,
        *,
        dilations: tuple[int, ...] = (),
        group: int = 1,
        kernel_shape: tuple[int, ...] = (),
        offset_group: int = 1,
        pads: tuple[int, ...] = (),
        strides: tuple[int, ...] = (),
    ) -> Result:
        if x.rank != 4:
            raise IrError(
                f"deformable convolutions of {x.rank - 2} spatial axes have no form in Relay", code=UnsupportedNode
            )
        weights_shape = w.extents("the weights of DeformConv", rank=4)
        if kernel_shape and tuple(kernel_shape) != weights_shape[2:]:
            raise IrError(f"kernel_shape {list(kernel_shape)} and the weights {w.tensor} differ", code=DamagedModel)
        require_count(group, "group")
        require_count(offset_group, "offset_group")
        windows = Windows.of(weights_shape[2:], strides, pads, dilations)
        batch, channels, height, width = x.extents("the data of DeformConv", rank=4)
        taps = weights_shape[2] * weights_shape[3]
        rows, columns = offset.extents("the offsets of DeformConv", rank=4)[2:]
        points = self._points(offset, windows, (batch * offset_group, taps, rows, columns), (height, width))
        parts = x.call("reshape", newshape=[batch * offset_group, channels // offset_group, height, width])
        seen = parts.call(
            "image.grid_sample", points, method="bilinear", layout="NCHW", padding_mode="zeros", align_corners=False
        )
        if mask is not None:
            seen = multiply(seen, mask.call("reshape", newshape=[batch * offset_group, 1, taps * rows, columns]))
        seen = seen.call("reshape", newshape=[batch, channels * taps, rows, columns])
        kernel = w.call("reshape", newshape=[weights_shape[0], weights_shape[1] * taps, 1, 1])
        y = seen.call(
            "nn.conv2d", kernel, groups=group, channels=weights_shape[0], kernel_size=[1, 1], padding=[0, 0, 0, 0]
        )
        return y if b is None else y.call("nn.bias_add", b, axis=1)

    def _points(
        self, offset: Value, windows: Windows, shape: tuple[int, int, int, int], extents: tuple[int, int]
    ) -> Value:
        """The places of taps, x first, over -1 … 1 between the edges of the data: (N, 2, taps * rows, columns)."""
        n, taps, rows, columns = shape
        offset_pairs = offset.call("reshape", newshape=[n, taps, 2, rows, columns])
        points = []
        for k in (1, 0):
            require_room((taps, rows, columns), "the taps of DeformConv")
            tap = counted(taps, "the taps of DeformConv")
            tap = tap % windows.kernel[1] if k else tap // windows.kernel[1]
            start = counted(columns if k else rows, "the taps of DeformConv") * windows.strides[k] - windows.pads[k]
            along = start[None, None, :] if k else start[None, :, None]
            base = np.broadcast_to(tap[:, None, None] * windows.dilations[k] + along, (taps, rows, columns))
            moved = offset_pairs.call("take", Value.constant(np.asarray(k, "int32")), axis=2)
            # The centre of pixel p is (2 p + 1) / extent - 1.
            scale = 2.0 / extents[k]
            coordinate = add(multiply(moved, scale), Value.constant(base * scale + 1.0 / extents[k] - 1, offset.dtype))
            points.append(coordinate.call("reshape", newshape=[n, 1, taps * rows, columns]))
        return concatenate(points, 1)
