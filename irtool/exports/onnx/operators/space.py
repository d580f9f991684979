"""Padding, blocks of pixels, and other movement in images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ....deferred import np
from ....ir import Expr
from ....ops.base import call
from ....passes.legalization.rule import LegalizationSite
from ..form import Expansion, Form, form
from ..site import OnnxSite
from .conv import attributes, relayout
from .unary import bound

_MODES = {"constant": "constant", "edge": "edge", "reflect": "reflect"}


@form("nn.pad")
@dataclass(frozen=True)
class Pad(Form):
    """`Pad`"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        x, fill = s.inputs
        widths = s.attrs.pad_width
        pads = s.ints(*(int(a) for a, _ in widths), *(int(b) for _, b in widths))
        mode = _MODES[s.attrs.pad_mode]
        if not widths:
            return s.node("Identity", x)
        value = s.reshape(s.cast(fill, x.dtype), []) if mode == "constant" else None
        return s.node("Pad", x, pads, value, mode=mode)


@form("nn.mirror_pad")
@dataclass(frozen=True)
class MirrorPad(Form):
    """`Pad` with `mode="reflect"`; SYMMETRIC as `Gather` with constant places along each axis"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        (x,) = s.inputs
        widths = [(int(a), int(b)) for a, b in s.attrs.pad_width]
        if s.attrs.mode == "REFLECT":
            return s.node("Pad", x, s.ints(*(a for a, _ in widths), *(b for _, b in widths)), mode="reflect")
        for axis, ((before, after), extent) in enumerate(zip(widths, s.dims(0), strict=True)):
            if before or after:
                positions = np.arange(-before, extent + after)
                positions = np.where(positions < 0, -1 - positions, positions)
                positions = np.where(positions >= extent, 2 * extent - 1 - positions, positions)
                x = s.node("Gather", x, s.constant(positions, "int64"), axis=axis)
        return s.node("Identity", x)


@form("nn.depth_to_space")
@dataclass(frozen=True)
class DepthToSpace(Expansion):
    """`DepthToSpace`; NHWC: `Transpose` around it"""

    direct: ClassVar[bool] = True

    def expand(self, s: LegalizationSite) -> Expr | None:
        return _plain(s)

    def emit(self, s: OnnxSite) -> Any:
        return _in_floats(s, "DepthToSpace", mode="CRD" if s.attrs.mode == "CDR" else s.attrs.mode)


_SMALL = ("bool", "int8", "uint8", "int16", "uint16")


def _in_floats(s: OnnxSite, node: str, **attributes: Any) -> Any:
    """The node on floats, as wide as the elements need, cast back."""
    (x,) = s.inputs
    dtype = "float32" if x.dtype in _SMALL else "float64"
    wide = x if x.dtype in ("float32", "float64", "float16") else s.cast(x, dtype)
    return s.cast(s.node(node, wide, blocksize=int(s.attrs.block_size), **attributes), x.dtype)


@form("nn.space_to_depth")
@dataclass(frozen=True)
class SpaceToDepth(Expansion):
    """`SpaceToDepth`; NHWC: `Transpose` around it"""

    direct: ClassVar[bool] = True

    def expand(self, s: LegalizationSite) -> Expr | None:
        return _plain(s)

    def emit(self, s: OnnxSite) -> Any:
        return _in_floats(s, "SpaceToDepth")


def _plain(s: LegalizationSite) -> Expr | None:
    attrs = s.attrs
    if attrs.layout == "NCHW":
        return None
    padded = call(
        attrs.name, relayout(s.args[0], attrs.layout, "NCHW"), span=s.call.span, **attributes(attrs, layout="NCHW")
    )
    return relayout(padded, "NCHW", attrs.layout)


@form("vision.yolo_reorg")
@dataclass(frozen=True)
class YoloReorg(Form):
    """`Reshape`, `Transpose`, `Reshape`, in the order of Darknet"""

    def emit(self, s: OnnxSite) -> Any:
        (x,) = s.inputs
        n, c, h, w = s.dims(0)
        step = int(s.attrs.stride)
        deep = c // (step * step)
        # element (k, j, i) of the result is at channel k % deep, rows j * step + k // deep // step, and so on, of the data
        # seen as (deep, h * step, w * step)
        seen = s.reshape(x, [n, deep, h, step, w, step])
        return s.reshape(s.transpose(seen, [0, 3, 5, 1, 2, 4]), s.static(s.out))


@form("nn.space_to_batch_nd")
@dataclass(frozen=True)
class SpaceToBatch(Form):
    """`Pad`, `Reshape`, `Transpose`, `Reshape`"""

    def emit(self, s: OnnxSite) -> Any:
        (x,) = s.inputs
        attrs, shape = s.attrs, s.dims(0)
        blocks = [int(b) for b in attrs.block_shape]
        count, rank = len(blocks), len(shape)
        before = [0, *(int(p[0]) for p in attrs.paddings), *[0] * (rank - 1 - count)]
        after = [0, *(int(p[1]) for p in attrs.paddings), *[0] * (rank - 1 - count)]
        if any(before) or any(after):
            fill = bound(float(attrs.pad_value), x.dtype)
            x = s.node("Pad", x, s.ints(*before, *after), s.scalar(fill, x))
        sizes = [n + a + b for n, a, b in zip(shape, before, after, strict=True)]
        whole = [n - n % b for n, b in zip(sizes[1 : 1 + count], blocks, strict=True)]
        if whole != sizes[1 : 1 + count]:
            x = s.slice(x, [0] * count, whole, list(range(1, 1 + count)))
            sizes[1 : 1 + count] = whole
        split = [sizes[0]]
        for size, block in zip(sizes[1 : 1 + count], blocks, strict=True):
            split += [size // block, block]
        x = s.reshape(x, [*split, *sizes[1 + count :]])
        inner = [2 + 2 * i for i in range(count)]
        outer = [1 + 2 * i for i in range(count)]
        rest = range(1 + 2 * count, len(split) + rank - 1 - count)
        return s.reshape(s.transpose(x, [*inner, 0, *outer, *rest]), s.static(s.out))


@form("nn.batch_to_space_nd")
@dataclass(frozen=True)
class BatchToSpace(Form):
    """`Reshape`, `Transpose`, `Reshape`, `Slice`"""

    def emit(self, s: OnnxSite) -> Any:
        (x,) = s.inputs
        attrs, shape = s.attrs, s.dims(0)
        blocks = [int(b) for b in attrs.block_shape]
        count = len(blocks)
        batch = shape[0] // int(np.prod(blocks))
        x = s.reshape(x, [*blocks, batch, *shape[1:]])
        order = [count]
        for i in range(count):
            order += [count + 1 + i, i]
        x = s.transpose(x, [*order, *range(2 * count + 1, count + len(shape))])
        sizes = [n * b for n, b in zip(shape[1 : 1 + count], blocks, strict=True)]
        x = s.reshape(x, [batch, *sizes, *shape[1 + count :]])
        starts = [int(c[0]) for c in attrs.crops]
        ends = [n - int(c[1]) for n, c in zip(sizes, attrs.crops, strict=True)]
        return s.slice(x, starts, ends, list(range(1, 1 + count)))


@form("nn.dilate")
@dataclass(frozen=True)
class Dilate(Form):
    """`Expand`-ed filling and `ScatterND` at constant places, axis by axis"""

    def emit(self, s: OnnxSite) -> Any:
        (x,) = s.inputs
        strides = [int(v) for v in s.attrs.strides]
        shape = s.dims(0)
        out = s.static(s.out)
        if not shape or out == shape:
            return s.node("Identity", x)
        grids = np.meshgrid(*(np.arange(n) * v for n, v in zip(shape, strides, strict=True)), indexing="ij")
        fill = s.node("Expand", s.scalar(s.attrs.dilation_value, x), s.ints(*out))
        return s.node("ScatterND", fill, s.constant(np.stack(grids, -1), "int64"), x)


@form("nn.fifo_buffer")
@dataclass(frozen=True)
class FifoBuffer(Form):
    """`Concat`, `Slice`"""

    def emit(self, s: OnnxSite) -> Any:
        x, buffer = s.inputs
        axis = s.axes(1, [s.attrs.axis])[0]
        extent = s.dims(0)[axis]
        joined = s.node("Concat", buffer, x, axis=axis)
        return s.slice(joined, [extent], [(1 << 63) - 1], [axis])
