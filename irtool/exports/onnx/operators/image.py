"""Images: resizing and sampling."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ....deferred import np
from ....ops.image.resample import Method, map_axis, outside, positions, taps_at
from ....ops.image.resize import spatial_axes
from ....ops.nn.upsampling import upsampling3d_method, upsampling_method
from ..form import Form, decomposed, form
from ..graph import Value
from ..site import OnnxSite

_MODES = {"nearest_neighbor": "nearest", "linear": "linear", "cubic": "cubic"}
_ROUNDINGS = {
    "round": "round_prefer_ceil",
    "round_prefer_floor": "round_prefer_floor",
    "round_prefer_ceil": "round_prefer_ceil",
    "floor": "floor",
    "ceil": "ceil",
}
_COORDINATES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")


@form("image.resize1d", "image.resize2d", "image.resize3d", "nn.upsampling", "nn.upsampling3d")
@dataclass(frozen=True)
class Resize(Form):
    """`Resize` of images and volumes; else `Gather` of the taps and their weighted sum, axis by axis"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        (x,) = s.inputs
        attrs, name = s.attrs, s.attrs.name
        rank = {"1d": 1, "3d": 3}.get(name[-2:], 2)
        canonical = {1: "NCW", 2: "NCHW", 3: "NCDHW"}[rank]
        axes = spatial_axes(attrs.layout, canonical)
        roi: list[tuple[float, float]] = [(0.0, 0.0)] * rank
        extrapolation = 0.0
        if name.startswith("nn."):
            method = upsampling_method(attrs.method, attrs.align_corners) if rank == 2 else None
            method = method or upsampling3d_method(attrs.method, attrs.coordinate_transformation_mode)
        else:
            method = Method(
                attrs.method,
                attrs.coordinate_transformation_mode,
                attrs.rounding_method,
                attrs.cubic_alpha,
                bool(attrs.cubic_exclude),
            )
            roi_values = list(attrs.roi or [])
            if len(roi_values) == 2 * rank:
                roi = [(roi_values[i], roi_values[rank + i]) for i in range(rank)]
            extrapolation = attrs.extrapolation_value
        size = [s.known(s.out, a) for a in axes]
        if self._has_node(method, rank, attrs.layout == canonical, x.dtype):
            return s.cast(_resized(s, x, axes, size, method), s.out.dtype)
        resized = by_taps(s, x, s.dims(0), axes, size, method, roi, extrapolation, exact=name == "nn.upsampling")
        return s.cast(resized, s.out.dtype)

    @staticmethod
    def _has_node(method: Method, rank: int, plain: bool, dtype: str) -> bool:
        if rank == 1 or not plain or method.coordinates not in _COORDINATES or dtype not in ("float32", "float16"):
            return False
        return rank == 2 or method.name != "cubic"


def _resized(s: OnnxSite, x: Value, axes: Sequence[int], size: Sequence[int], method: Method) -> Value:
    if s.tensor(0).is_static:
        sizes = s.ints(*(size[list(axes).index(a)] if a in axes else d for a, d in enumerate(s.dims(0))))
    else:
        sizes = s.concat([s.slice(s.shape(x), [0], [2], [0]), s.ints(*size)], 0)
    nearest = method.name == "nearest_neighbor"
    cubic = method.name == "cubic"
    return s.node(
        "Resize",
        x,
        None,
        None,
        sizes,
        mode=_MODES[method.name],
        coordinate_transformation_mode=method.coordinates,
        nearest_mode=_ROUNDINGS[method.rounding_in_use] if nearest else None,
        cubic_coeff_a=float(method.alpha) if cubic else None,
        exclude_outside=int(method.exclude) if cubic else None,
    )


def by_taps(
    s: OnnxSite,
    x: Value,
    shape: Sequence[int],
    axes: Sequence[int],
    size: Sequence[int],
    method: Method,
    roi: Sequence[tuple[float, float]],
    extrapolation: float,
    exact: bool = False,
) -> Value:
    """A tensor resampled along axes, the last one first: places and weights are constants."""
    rank = len(shape)
    maps = [map_axis(shape[a], n, method, b[0], b[1], exact) for a, n, b in zip(axes, size, roi, strict=True)]
    for axis, target, map in reversed(list(zip(axes, size, maps, strict=True))):
        whole = np.arange(target) // map.whole if map.whole else None
        taps, weights = taps_at(positions(map, target), map.extent, method, whole)
        if method.name == "nearest_neighbor":
            x = s.node("Gather", x, s.constant(taps[0], "int64"), axis=axis)
            continue
        x = s.cast(x, "float32")
        form = [-1 if a == axis else 1 for a in range(rank)]
        total = None
        for k in range(method.taps):
            tap = s.node("Gather", x, s.constant(taps[k], "int64"), axis=axis)
            term = s.mul(tap, s.constant(weights[k].reshape(form), "float32"))
            total = term if total is None else s.add(total, term)
        assert total is not None
        x = total
    if method.coordinates == "tf_crop_and_resize":
        for axis, target, map in zip(axes, size, maps, strict=True):
            beyond = outside(map, target).reshape([-1 if a == axis else 1 for a in range(rank)])
            if beyond.any():
                x = s.where(s.constant(beyond, "bool"), s.scalar(extrapolation, x), x)
    return x


@form("image.grid_sample")
@dataclass(frozen=True)
class GridSample(Form):
    """`GridSample`, the grid transposed (volumes from opset 20)"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        x, grid = s.inputs
        attrs, rank = s.attrs, len(s.tensor(0).shape)
        if rank == 5:
            s.need_opset(20, "GridSample of volumes")
        newer = {"bilinear": "linear", "bicubic": "cubic"} if s.opset >= 20 else {}
        return s.node(
            "GridSample",
            x,
            s.transpose(grid, [0, *range(2, rank), 1]),
            mode=newer.get(attrs.method, attrs.method),
            padding_mode=attrs.padding_mode,
            align_corners=int(bool(attrs.align_corners)),
        )


@decomposed("`MatMul` with the constant grid, `Reshape`", "image.affine_grid")
def affine_grid(s: OnnxSite) -> Value:
    (x,) = s.inputs
    n, _, h, w = s.static(s.out)
    y, x_ = (np.linspace(-1, 1, k) if k > 1 else np.full(k, -1.0) for k in (h, w))
    grid = np.stack([np.broadcast_to(x_, (h, w)), np.broadcast_to(y[:, None], (h, w)), np.ones((h, w))])
    return s.reshape(s.node("MatMul", x, s.constant(grid.reshape(3, h * w), x.dtype)), [n, 2, h, w])


@decomposed(
    "`Gather` of the images, `GridSample` at the points of each box, `Where` for those outside", "image.crop_and_resize"
)
def crop_and_resize(s: OnnxSite) -> Value:
    data, boxes, box_indices = s.inputs
    attrs = s.attrs
    if attrs.layout not in ("NCHW", "NHWC"):
        s.refuse(f"the layout {attrs.layout} is none of images with whole channels")
    last = attrs.layout == "NHWC"
    x = s.transpose(s.cast(data, "float32"), [0, 3, 1, 2] if last else [0, 1, 2, 3])
    shape = s.dims(0)
    height, width = (shape[1], shape[2]) if last else (shape[2], shape[3])
    x = s.node("Gather", x, s.cast(box_indices, "int64"), axis=0)
    columns = [s.slice(boxes, [k], [k + 1], [1]) for k in range(4)]
    out_h, out_w = (int(v) for v in attrs.crop_size)
    ys = _places(s, columns[0], columns[2], height, out_h)
    xs = _places(s, columns[1], columns[3], width, out_w)
    beyond = []
    norm = []
    for p, extent in ((xs, width), (ys, height)):
        low = s.compare("Less", p, s.scalar(0, p))
        beyond.append(s.node("Or", low, s.compare("Greater", p, s.scalar(extent - 1, p))))
        if attrs.method == "nearest_neighbor":
            p = s.node("Floor", s.add(p, s.scalar(0.5, p)))
        scale = 2.0 / (extent - 1) if extent > 1 else 0.0
        norm.append(s.sub(s.mul(p, s.scalar(scale, p)), s.scalar(1, p)))
    count = s.dims(1)[0]
    grid_x = s.node("Expand", s.unsqueeze(norm[0], 1), s.ints(count, out_h, out_w))
    grid_y = s.node("Expand", s.unsqueeze(norm[1], 2), s.ints(count, out_h, out_w))
    grid = s.node("Concat", s.unsqueeze(grid_x, 3), s.unsqueeze(grid_y, 3), axis=3)
    linear = "linear" if s.opset >= 20 else "bilinear"
    mode = "nearest" if attrs.method == "nearest_neighbor" else linear
    crops = s.node("GridSample", x, grid, mode=mode, padding_mode="border", align_corners=1)
    out = s.node("Or", s.unsqueeze(beyond[0], 1), s.unsqueeze(beyond[1], 2))
    crops = s.where(s.unsqueeze(out, 1), s.scalar(attrs.extrapolation_value, crops), crops)
    return s.cast(s.transpose(crops, [0, 2, 3, 1] if last else [0, 1, 2, 3]), s.out.dtype)


def _places(s: OnnxSite, low: Value, high: Value, extent: int, count: int) -> Value:
    """The positions of the samples of each box along an axis: (boxes, count)."""
    low, high = s.cast(low, "float32"), s.cast(high, "float32")
    wide = s.scalar(extent - 1, low)
    if count == 1:
        return s.mul(s.mul(s.add(low, high), s.scalar(0.5, low)), wide)
    step = s.div(s.mul(s.sub(high, low), wide), s.scalar(count - 1, low))
    return s.add(s.mul(low, wide), s.mul(s.constant(np.arange(count)[None], "float32"), step))


@decomposed("`Pad`, the maximum over the taps of shifted data plus their weight", "image.dilation2d")
def dilation2d(s: OnnxSite) -> Value:
    data, weight = s.inputs
    attrs = s.attrs
    last = attrs.data_layout == "NHWC"
    x = s.transpose(data, [0, 3, 1, 2] if last else [0, 1, 2, 3])
    w = s.transpose(weight, [2, 0, 1] if attrs.kernel_layout == "HWI" else [0, 1, 2])
    shape = [s.dims(0)[a] for a in ([0, 3, 1, 2] if last else [0, 1, 2, 3])]
    taps = [s.dims(1)[a] for a in ([0, 1] if attrs.kernel_layout == "HWI" else [1, 2])]
    out = [s.static(s.out)[a] for a in ([1, 2] if last else [2, 3])]
    strides, dilations = ([int(v) for v in (a if len(a) == 2 else [*a, *a])] for a in (attrs.strides, attrs.dilations))
    pads = [int(p) for p in attrs.padding]
    pads = pads * 4 if len(pads) == 1 else pads * 2 if len(pads) == 2 else pads
    x = s.node("Pad", x, s.ints(0, 0, pads[0], pads[1], 0, 0, pads[2], pads[3]), s.scalar(0, x))
    total = None
    for tap in itertools.product(*map(range, taps)):
        first = [t * d for t, d in zip(tap, dilations, strict=True)]
        ends = [f + (p - 1) * v + 1 for f, p, v in zip(first, out, strides, strict=True)]
        part = s.slice(x, first, ends, [2, 3], strides)
        moved = s.add(part, s.reshape(s.slice(w, tap, [t + 1 for t in tap], [1, 2]), [shape[1], 1, 1]))
        total = moved if total is None else s.node("Max", total, moved)
    assert total is not None
    return s.transpose(total, [0, 2, 3, 1] if last else [0, 1, 2, 3])
