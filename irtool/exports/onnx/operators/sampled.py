"""Products of shifted and of sampled maps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ....deferred import np
from ....ir import Expr
from ....ops.base import call
from ....passes.legalization.rule import LegalizationSite
from ..form import Expansion, decomposed, form
from ..graph import Value
from ..site import OnnxSite
from .conv import attributes, pads_of, relayout, spread


@decomposed("`Pad`, products of the shifted maps, `ReduceSum`, `Concat` over the displacements", "nn.correlation")
def correlation(s: OnnxSite) -> Value:
    attrs = s.attrs
    pads = pads_of(attrs.padding, 2)
    _, channels, _, _ = s.dims(0)
    _, _, height, width = s.static(s.out)
    widths = s.ints(0, 0, *pads[:2], 0, 0, *pads[2:])
    a, b = (s.node("Pad", v, widths) for v in s.inputs)
    radius = attrs.max_displacement // attrs.stride2

    def seen(x: Value, row: int, column: int) -> Value:
        ends = [row + (height - 1) * attrs.stride1 + 1, column + (width - 1) * attrs.stride1 + 1]
        return s.slice(x, [row, column], ends, [2, 3], [attrs.stride1, attrs.stride1])

    planes = []
    for q in range(attrs.displacements**2):
        down = (q // attrs.displacements - radius) * attrs.stride2
        across = (q % attrs.displacements - radius) * attrs.stride2
        total = None
        for ky in range(attrs.kernel_size):
            for kx in range(attrs.kernel_size):
                row, column = attrs.max_displacement + ky, attrs.max_displacement + kx
                x, y = seen(a, row, column), seen(b, row + down, column + across)
                term = s.mul(x, y) if attrs.is_multiply else s.node("Abs", s.sub(x, y))
                total = term if total is None else s.add(total, term)
        assert total is not None
        planes.append(s.reduce("ReduceSum", total, [1], True))
    joined = s.concat(planes, 1)
    return s.div(joined, s.scalar(attrs.kernel_size**2 * channels, joined))


@form("nn.deformable_conv2d")
@dataclass(frozen=True)
class DeformableConv(Expansion):
    """the pixels around each moved tap gathered and weighted, `MatMul`: `DeformConv` treats the border in another way"""

    def expand(self, s: LegalizationSite) -> Expr | None:
        attrs = s.attrs
        out = attrs.out_layout or attrs.data_layout
        if attrs.data_layout == "NCHW" and attrs.kernel_layout == "OIHW" and out == "NCHW":
            return None
        x, offset, w = s.args
        convolution = call(
            attrs.name,
            relayout(x, attrs.data_layout, "NCHW"),
            relayout(offset, attrs.data_layout, "NCHW"),
            relayout(w, attrs.kernel_layout, "OIHW"),
            span=s.call.span,
            **attributes(attrs, data_layout="NCHW", kernel_layout="OIHW", out_layout=""),
        )
        return relayout(convolution, "NCHW", out)

    def emit(self, s: OnnxSite) -> Any:
        x, offset, w = s.inputs
        attrs = s.attrs
        batch, channels, height, width = s.dims(0)
        outputs, depth, *kernel = s.dims(2)
        rows, columns = s.static(s.out)[2:]
        moved, taps, pixel_count = int(attrs.deformable_groups), kernel[0] * kernel[1], rows * columns
        shifts = s.reshape(s.cast(offset, "float32"), [batch, moved, taps, 2, pixel_count])
        ys, xs = (
            s.add(s.squeeze(s.slice(shifts, [k], [k + 1], [3]), 3), s.constant(grid, "float32"))
            for k, grid in enumerate(_grids(attrs, kernel, (rows, columns)))
        )
        inside = _within(s, ys, height), _within(s, xs, width)
        seen = s.node("And", *inside)
        y, z = (s.where(seen, v, s.scalar(0, v)) for v in (ys, xs))
        top, left = s.node("Floor", y), s.node("Floor", z)
        pixels = s.reshape(s.cast(x, "float32"), [batch, moved, channels // moved, height * width])
        total = None
        for dy in (0, 1):
            for dz in (0, 1):
                row, column = (s.add(v, s.scalar(d, v)) for v, d in ((top, dy), (left, dz)))
                share = s.mul(_share(s, y, row), _share(s, z, column))
                known = s.node("And", _within(s, row, height), _within(s, column, width))
                share = s.where(s.node("And", known, seen), share, s.scalar(0, share))
                at_row = s.node("Min", row, s.scalar(height - 1, row))
                at_column = s.node("Min", column, s.scalar(width - 1, column))
                index = s.cast(s.add(s.mul(at_row, s.scalar(width, at_row)), at_column), "int64")
                index = s.reshape(index, [batch, moved, 1, taps * pixel_count])
                index = s.node("Expand", index, s.ints(batch, moved, channels // moved, taps * pixel_count))
                samples = s.node("GatherElements", pixels, index, axis=3)
                term = s.mul(samples, s.reshape(share, [batch, moved, 1, taps * pixel_count]))
                total = term if total is None else s.add(total, term)
        assert total is not None
        groups = int(attrs.groups)
        columns_of = s.reshape(total, [batch, groups, depth * taps, pixel_count])
        weights = s.reshape(s.cast(w, "float32"), [groups, outputs // groups, depth * taps])
        convolved = s.reshape(s.node("MatMul", weights, columns_of), [batch, outputs, rows, columns])
        return s.cast(convolved, s.out.dtype)


def _grids(attrs: Any, kernel: list[int], out: tuple[int, ...]) -> list[Any]:
    """The rows, and the columns, that the taps are at before they are moved: (taps, positions)."""
    strides, dilation, pads = spread(attrs.strides, 2), spread(attrs.dilation, 2), pads_of(attrs.padding, 2)
    steps = [
        np.arange(out[i])[None, :] * strides[i] + np.arange(kernel[i])[:, None] * dilation[i] - pads[i] for i in (0, 1)
    ]
    ys = np.broadcast_to(steps[0][:, None, :, None], (kernel[0], kernel[1], out[0], out[1]))
    xs = np.broadcast_to(steps[1][None, :, None, :], (kernel[0], kernel[1], out[0], out[1]))
    return [g.reshape(kernel[0] * kernel[1], out[0] * out[1]) for g in (ys, xs)]


def _within(s: OnnxSite, v: Value, extent: int) -> Value:
    low = s.compare("GreaterOrEqual", v, s.scalar(0, v))
    return s.node("And", low, s.compare("Less", v, s.scalar(extent, v)))


def _share(s: OnnxSite, v: Value, pixel: Value) -> Value:
    """The weight of a pixel at a place along an axis."""
    return s.sub(s.scalar(1, v), s.node("Abs", s.sub(v, pixel)))
