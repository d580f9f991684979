"""Deformable convolution: each tap of the kernel looks beside its place, by an offset that is data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ...ir.dims import ANY
from ...tir.dtypes import accumulator_dtype
from ..base import VOID, DType, Operator, Pattern, RelationError, Reporter, operator
from ..layout import Layout, convert
from ..shapes import add, compatible, floordiv, mul, product, tensor
from .blocks import unfilled
from .conv import exactly
from .conv_expression import Stored, result
from .gemm import matmul
from .geometry import dilated, in_layout, pad_amounts, parse_layout, per_axis, per_group, positions


@operator(
    "nn.deformable_conv2d",
    "data",
    "offset",
    "weight",
    pattern=Pattern.OUT_ELEMWISE_FUSABLE,
    attrs="DeformableConv2DAttrs",
    level=5,
)
@dataclass(frozen=True)
class DeformableConv2D(Operator):
    """`nn.conv2d` whose taps are moved by `offset`, `(N, 2 * KH * KW * deformable_groups, H', W')`, pairs of y and x.

    Between pixels the data is interpolated bilinearly, with zeros beyond its last row and column; a tap that has left
    the data sees 0. Dai et al., 2017.
    """

    narrowed_attribute = "out_dtype"
    kernel_layouts = {"NCHW": "OIHW", "NHWC": "HWIO"}

    strides: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0)
    dilation: tuple[int, ...] = (1, 1)
    deformable_groups: int = 1
    groups: int = 1
    channels: int | None = None
    kernel_size: tuple[int, ...] | None = None
    data_layout: str = "NCHW"
    kernel_layout: str = "OIHW"
    out_layout: str = ""
    out_dtype: DType = VOID

    dtype_attribute = "out_dtype"
    one_dtype = ("data", "offset", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """As `nn.conv2d`; the offsets get two numbers for each element of the kernel, deformable group and position."""
        data, weight = tensor(types[0], "the data"), tensor(types[2], "the weights")
        if data is None:
            return None
        data_layout = parse_layout(self.data_layout, "NCHW", "data_layout")
        kernel_layout = parse_layout(self.kernel_layout, "OIHW", "kernel_layout")
        out_layout = parse_layout(self.out_layout or self.data_layout, "NCHW", "out_layout")
        shape = in_layout(data.shape, data_layout, "NCHW", "the data")
        strides, dilation = per_axis(self.strides, 2, "strides"), per_axis(self.dilation, 2, "dilation")
        if self.kernel_size is not None and self.channels is not None:
            exactly(self.dilation, 2, "dilation")
            inputs = floordiv(shape[1], self.groups)
            kernel_shape = (self.channels, inputs, *exactly(self.kernel_size, 2, "kernel_size"))
            reporter.assign(2, TensorType(in_layout(kernel_shape, "OIHW", kernel_layout, "the weights"), data.dtype))
        else:
            if weight is None:
                return None
            kernel_shape = in_layout(weight.shape, kernel_layout, "OIHW", "the weights")
            for i, k in enumerate(exactly(self.kernel_size, 2, "kernel_size") if self.kernel_size is not None else ()):
                if not compatible(k, kernel_shape[2 + i]):
                    raise RelationError(
                        f"kernel_size[{i}] is {k}, and the weights are {kernel_shape[2 + i]} wide there"
                    )
            if self.channels is not None and not compatible(self.channels, kernel_shape[0]):
                raise RelationError(f"channels is {self.channels}, and the weights give {kernel_shape[0]} channels")
            if shape[1] is not ANY and not compatible(floordiv(shape[1], self.groups), kernel_shape[1]):
                raise RelationError(
                    f"{shape[1]} input channels in {self.groups} groups do not meet weights for {kernel_shape[1]}"
                )
        per_group(kernel_shape[0], self.groups, "output")
        per_group(shape[1], self.groups, "input")
        per_group(shape[1], self.deformable_groups, "input")
        pads = pad_amounts(self.padding, 2)
        spatial = [
            positions(shape[2 + i], add(*pads[i]), dilated(kernel_shape[2 + i], dilation[i]), strides[i])
            for i in range(2)
        ]
        moved = mul(product((2, *kernel_shape[2:])), self.deformable_groups)
        offsets = in_layout((shape[0], moved, *spatial), "NCHW", data_layout, "the offsets")
        reporter.assign(1, TensorType(offsets, data.dtype))
        out_shape = in_layout((shape[0], kernel_shape[0], *spatial), "NCHW", out_layout, "the result")
        return TensorType(out_shape, self.out_dtype or data.dtype)

    def evaluate(self, data: np.ndarray, offset: np.ndarray, weight: np.ndarray) -> np.ndarray:
        x, moves = convert(data, self.data_layout, "NCHW"), convert(offset, self.data_layout, "NCHW")
        w = convert(weight, self.kernel_layout, "OIHW")
        batch = x.shape[0]
        outputs, depth, height, width = w.shape
        seen = self.sample(x, moves, (height, width))
        rows = depth * height * width
        columns = seen.reshape(batch, self.groups, rows, prod(moves.shape[2:]))
        y = matmul(w.reshape(self.groups, outputs // self.groups, rows), columns, self.out_dtype or data.dtype)
        y = y.reshape(batch, outputs, *moves.shape[2:])
        return convert(y, "NCHW", self.out_layout or self.data_layout)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        stored = Layout.parse(self.data_layout)
        out_layout = Layout.parse(self.out_layout or self.data_layout)
        if (unfilled_result := unfilled(self, inputs, out_type, out_layout, "NCHW")) is not None:
            return unfilled_result
        x, moves = Stored(inputs[0], stored, "NCHW"), Stored(inputs[1], stored, "NCHW")
        w = Stored(inputs[2], Layout.parse(self.kernel_layout), "OIHW")
        outputs, depth, *kernel = w.shape
        seen = self.sampled(x, moves, kernel)
        rc, ky, kx = (te.reduce_axis(n, name=f"r{i}") for i, n in enumerate((depth, *kernel)))
        each = outputs // self.groups

        def element(n: Any, o: Any, i: Any, j: Any) -> Any:
            c = te.floordiv(o, each) * depth + rc if self.groups > 1 else rc
            wide = accumulator_dtype(out_type.dtype)
            return te.sum(te.cast(seen[n, c, ky, kx, i, j], wide) * te.cast(w[o, rc, ky, kx], wide), axis=[rc, ky, kx])

        return result(out_type, out_layout, "NCHW", element, "deformable_conv2d", {})

    def sampled(self, x: Stored, moves: Stored, kernel: Sequence[int]) -> Any:
        """`sample` as a tensor expression."""
        batch, channels, height, width = x.shape
        pads: Any = pad_amounts(self.padding, 2)
        per_group = channels // self.deformable_groups
        taps = kernel[0] * kernel[1]

        def element(n: Any, c: Any, ky: Any, kx: Any, i: Any, j: Any) -> Any:
            first = te.floordiv(c, per_group) * (taps * 2) + (ky * kernel[1] + kx) * 2
            positions = [
                te.cast(p * s + k * d - before, "float32") + te.cast(moves[n, first + axis, i, j], "float32")
                for axis, (p, s, k, d, before) in enumerate(
                    zip((i, j), self.strides, (ky, kx), self.dilation, (pads[0][0], pads[1][0]), strict=True)
                )
            ]
            inside = [
                te.all(p >= 0.0, p < te.const(size, "float32"))
                for p, size in zip(positions, (height, width), strict=True)
            ]
            clipped = [
                te.minimum(te.maximum(p, 0.0), te.const(size - 1, "float32"))
                for p, size in zip(positions, (height, width), strict=True)
            ]
            low = [te.cast(te.floor(p), "int32") for p in clipped]
            high = [te.minimum(a + 1, size - 1) for a, size in zip(low, (height, width), strict=True)]
            part = [p - te.cast(a, "float32") for p, a in zip(positions, low, strict=True)]
            beyond = [
                te.select(a + 1 < size, share, te.const(0.0, "float32"))
                for a, share, size in zip(low, part, (height, width), strict=True)
            ]
            total: Any = te.const(0.0, "float32")
            for row, share_y in ((low[0], 1.0 - part[0]), (high[0], beyond[0])):
                for column, share_x in ((low[1], 1.0 - part[1]), (high[1], beyond[1])):
                    total = total + te.cast(x[n, c, row, column], "float32") * (share_y * share_x)
            return te.if_then_else(te.all(*inside), total, te.const(0.0, "float32"))

        return te.compute((batch, channels, *kernel, *moves.shape[2:]), element, name="sampled", tag="sampled")

    def sample(self, x: np.ndarray, moves: np.ndarray, kernel: tuple[int, int]) -> np.ndarray:
        """The sample of each tap at each position: `(N, C, KH, KW, H', W')`."""
        batch, channels, height, width = x.shape
        out = moves.shape[2:]
        pads: Any = pad_amounts(self.padding, 2)
        shifts = moves.reshape(batch, self.deformable_groups, *kernel, 2, *out).astype(np.float32)
        y = self.grid(0, kernel[0], out[0], pads[0][0])[:, None, :, None] + shifts[:, :, :, :, 0]
        z = self.grid(1, kernel[1], out[1], pads[1][0])[None, :, None, :] + shifts[:, :, :, :, 1]
        inside = (y >= 0) & (z >= 0) & (y < height) & (z < width)
        y, z = np.where(inside, y, 0), np.where(inside, z, 0)
        top, left = np.floor(y), np.floor(z)
        total = np.zeros((batch, channels, *kernel, *out), np.float32)
        per_group = channels // self.deformable_groups
        for dy in (0, 1):
            for dz in (0, 1):
                part = (1 - np.abs(y - top - dy)) * (1 - np.abs(z - left - dz))
                part *= inside & (top + dy < height) & (left + dz < width)
                row = np.clip(top + dy, 0, height - 1).astype(np.intp)
                column = np.clip(left + dz, 0, width - 1).astype(np.intp)
                for n in range(batch):
                    for g in range(self.deformable_groups):
                        block = slice(g * per_group, (g + 1) * per_group)
                        total[n, block] += x[n, block][:, row[n, g], column[n, g]] * part[n, g]
        # Taps outside read nothing: the number at their clamped position may be infinite.
        seen = np.repeat(inside, per_group, axis=1)
        return np.where(seen, total, np.float32(0))

    def grid(self, axis: int, kernel: int, out: int, before: int) -> np.ndarray:
        """Places of the taps along one axis before they are moved: `(K, out)`."""
        return (np.arange(kernel)[:, None] * self.dilation[axis] + np.arange(out) * self.strides[axis] - before).astype(
            np.float32
        )
