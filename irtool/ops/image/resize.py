"""Operators that resize images: `image.resize1d`, `2d`, `3d`, `image.crop_and_resize`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ...ir.dims import Dim
from ..base import DType, Operator, Pattern, RelationError, Reporter, operator
from ..conversion import convert, number_as
from ..layout import Layout, convert_shape
from ..shapes import require_compatible, require_integers, require_rank, tensor
from .resample import (
    Division,
    Map,
    Method,
    division_of,
    interpolate,
    map_axis,
    outside,
    position_of,
    resample,
    taps_at,
    taps_of,
)


def set_spatial(shape: Sequence[Dim], layout: str, canonical: str, size: Sequence[Dim]) -> tuple[Dim, ...]:
    """The shape of a tensor in `layout` with its axes behind `NC` of the canonical layout set to `size`."""
    base = list(convert_shape(shape, layout, canonical))
    base[2:] = size
    return convert_shape(base, canonical, layout)


def resize_array(
    data: Any,
    axes: Sequence[int],
    size: Sequence[int],
    method: Method,
    dtype: str,
    roi: Sequence[tuple[float, float]] = (),
    extrapolation: float = 0.0,
    exact: bool = False,
) -> Any:
    """The numpy array with each of `axes` resampled to its `size`, as `dtype`."""
    bounds = roi or [(0.0, 0.0)] * len(axes)
    maps = [map_axis(data.shape[a], s, method, b[0], b[1], exact) for a, s, b in zip(axes, size, bounds, strict=True)]
    out = data
    for axis, target, map in reversed(list(zip(axes, size, maps, strict=True))):
        out = resample(out, axis, map, target, method)
    if method.coordinates == "tf_crop_and_resize":
        for axis, target, map in zip(axes, size, maps, strict=True):
            beyond = outside(map, target).reshape([-1 if a == axis else 1 for a in range(out.ndim)])
            out = np.where(beyond, number_as(extrapolation, out.dtype), out)
    return convert(out, dtype)


def resize_tensor(
    data: Any,
    axes: Sequence[int],
    shape: Sequence[int],
    method: Method,
    dtype: str,
    roi: Sequence[tuple[float, float]] = (),
    extrapolation: float = 0.0,
    exact: bool = False,
    name: str = "resize",
) -> Any:
    """The tensor expression of `resize_array`: one axis after the other, the last one first."""
    bounds = roi or [(0.0, 0.0)] * len(axes)
    maps = [map_axis(data.shape[a], shape[a], method, b[0], b[1], exact) for a, b in zip(axes, bounds, strict=True)]
    value = data
    for group in _groups([division_of(m, shape[a], method) for a, m in zip(axes, maps, strict=True)], method):
        value = _resampled(value, axes[group], [shape[a] for a in axes[group]], maps[group], method)

    def element(*i: Any) -> Any:
        sampled = value[i]
        if method.coordinates == "tf_crop_and_resize":
            positions = [position_of(i[a], m) for a, m in zip(axes, maps, strict=True)]
            beyond = [te.any(p < 0, p > m.extent - 1) for p, m in zip(positions, maps, strict=True)]
            sampled = te.select(te.any(*beyond), te.const(extrapolation, sampled.dtype), sampled)
        return te.cast(sampled, dtype)

    return te.compute(shape, element, name=name, tag="injective")


_TOGETHER = {"nearest_neighbor": 3, "linear": 2, "cubic": 1}
"""Axes that are resampled at once: two rows of two taps take less time than what is between them takes to store and read again."""


def _groups(divisions: Sequence[Division | None], method: Method) -> list[slice]:
    """Groups of axes that are resampled at once, the last ones first. Axes with tables of places are resampled alone."""
    groups: list[slice] = []
    end = len(divisions)
    while end:
        start = end - 1
        while start and end - start < _TOGETHER[method.name] and None not in divisions[start - 1 : end]:
            start -= 1
        groups.append(slice(start, end))
        end = start
    return groups


def _resampled(data: Any, axes: Sequence[int], targets: Sequence[int], maps: Sequence[Map], method: Method) -> Any:
    """The tensor with some axes resampled, the last one first."""
    known = {(n, m): _taps(n, m, method) for n, m in zip(targets, maps, strict=True)}
    taps = [known[key] for key in zip(targets, maps, strict=True)]
    shape = list(data.shape)
    for axis, target in zip(axes, targets, strict=True):
        shape[axis] = target

    def element(*i: Any) -> Any:
        def read(*indices: Any) -> Any:
            index = list(i)
            for axis, place in zip(axes, indices, strict=True):
                index[axis] = place
            return data[tuple(index)]

        return interpolate(
            read, [[(tap(i[a]), weight and weight(i[a])) for tap, weight in t] for a, t in zip(axes, taps)]
        )

    return te.compute(tuple(shape), element, name="resampled", tag="injective")


def _taps(target: int, map: Map, method: Method) -> list[tuple[Any, Any]]:
    """Functions that give the place and the weight of each tap of an element. Weights are tensors of their own, as they are the
    same wherever the axis is; so are places that are no division."""
    division = division_of(map, target, method)

    def taps(i: Any) -> list[tuple[Any, Any]]:
        return taps_of(position_of(i, map), map.extent, method)

    def table(k: int, part: int) -> Any:
        tap_table = te.compute((target,), lambda i: taps(i)[k][part], name="weight" if part else "tap", tag="injective")
        return lambda i: tap_table[i]

    def divided(k: int, division: Division) -> Any:
        return lambda i: te.max2(te.min2(division.at(i) + k, map.extent - 1), 0)

    weighted = method.name != "nearest_neighbor"
    return [
        (divided(k, division) if division is not None else table(k, 0), table(k, 1) if weighted else None)
        for k in range(method.taps)
    ]


def spatial_axes(layout: str, canonical: str) -> list[int]:
    """Positions in `layout` of the axes behind `NC` of the canonical layout."""
    parsed = Layout.parse(layout)
    return [parsed.index(letter) for letter in canonical[2:]]


@dataclass(frozen=True)
class Resize(Operator):
    """The common part of the three resizing operators; their fields are one list, with another default layout."""

    canonical: ClassVar[str]

    size: tuple[int, ...] | None = None
    roi: tuple[float, ...] | None = None
    layout: str = ""
    method: str = "linear"
    coordinate_transformation_mode: str = "half_pixel"
    rounding_method: str = "round"
    cubic_alpha: float = -0.5
    cubic_exclude: int = 0
    extrapolation_value: float = 0.0
    out_dtype: DType = DType("")  # noqa: RUF009

    dtype_attribute = "out_dtype"
    one_dtype = ("data", "result")

    def resampling(self) -> Method:
        return Method(
            self.method.lower(),
            self.coordinate_transformation_mode,
            self.rounding_method,
            self.cubic_alpha,
            bool(self.cubic_exclude),
        )

    def bounds(self, roi: Sequence[float]) -> list[tuple[float, float]]:
        """(start, end) of the region of interest along each spatial axis: first all starts, then all ends.

        The starts and ends of a volume come in the order W, H, D, those of an image in the order H, W, as in TVM.
        """
        n = len(self.canonical) - 2
        bounds = [(float(roi[k]), float(roi[k + n])) for k in range(n)]
        return bounds[::-1] if n == 3 else bounds

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's layout with `size` for the spatial extents; `out_dtype` or the data's dtype."""
        data = tensor(types[0])
        if data is None:
            return None
        n = len(self.canonical) - 2
        if self.size is None or len(self.size) != n:
            raise RelationError(f"size must have {n} elements")
        if self.roi is None or len(self.roi) != 2 * n:
            raise RelationError(f"roi must have {2 * n} elements")
        self.resampling().check()
        reporter.require_elements(self.size, (), f"size is {self.size}: it must not be negative", least=0)
        shape = set_spatial(data.shape, self.layout, self.canonical, self.size)
        for axis in spatial_axes(self.layout, self.canonical):
            message = f"axis {axis} of {data} has no element to take others from"
            reporter.require_elements((data.shape[axis],), (shape[axis],), message)
        return TensorType(shape, self.out_dtype or data.dtype)

    def evaluate(self, data: Any) -> Any:
        assert self.size is not None and self.roi is not None
        return resize_array(
            data,
            spatial_axes(self.layout, self.canonical),
            self.size,
            self.resampling(),
            self.out_dtype or str(data.dtype),
            self.bounds(self.roi),
            self.extrapolation_value,
            exact=len(self.canonical) == 4,
        )

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        assert self.roi is not None
        return resize_tensor(
            inputs[0],
            spatial_axes(self.layout, self.canonical),
            out_type.shape,
            self.resampling(),
            out_type.dtype,
            self.bounds(self.roi),
            self.extrapolation_value,
            exact=len(self.canonical) == 4,
        )


@operator("image.resize1d", "data", pattern=Pattern.INJECTIVE, attrs="Resize1DAttrs", level=5)
@dataclass(frozen=True)
class Resize1D(Resize):
    """A signal resized along W to `size`, by the given method (nearest_neighbor, linear, cubic) and coordinate mode."""

    canonical = "NCW"
    layout: str = "NCW"


@operator("image.resize2d", "data", pattern=Pattern.INJECTIVE, attrs="Resize2DAttrs", level=5)
@dataclass(frozen=True)
class Resize2D(Resize):
    """An image resized along H and W to `size`, by the given method (nearest_neighbor, linear, cubic) and mode."""

    precision = "follow"

    canonical = "NCHW"
    layout: str = "NCHW"


@operator("image.resize3d", "data", pattern=Pattern.INJECTIVE, attrs="Resize3DAttrs", level=5)
@dataclass(frozen=True)
class Resize3D(Resize):
    """A volume resized along D, H and W to `size`, by the given method (nearest_neighbor, linear, cubic) and mode."""

    canonical = "NCDHW"
    layout: str = "NCDHW"


@operator(
    "image.crop_and_resize",
    "data",
    "boxes",
    "box_indices",
    pattern=Pattern.INJECTIVE,
    attrs="CropAndResizeAttrs",
    level=5,
)
@dataclass(frozen=True)
class CropAndResize(Operator):
    """For each box (y1, x1, y2, x2 in 0 … 1), its part of image `box_indices[n]` resized to `crop_size`.

    `method` is `bilinear` or `nearest_neighbor`; elements outside of the image are `extrapolation_value`.
    """

    no_gradient = "grid_sample and roi_align have one"

    crop_size: tuple[int, ...] | None = None
    layout: str = "NCHW"
    method: str = "bilinear"
    extrapolation_value: float = 0.0
    out_dtype: DType = DType("")  # noqa: RUF009

    dtype_attribute = "out_dtype"
    one_dtype = ("data", "result")

    def resampling(self) -> Method:
        name = self.method.lower()
        return Method("linear" if name == "bilinear" else name, "tf_crop_and_resize", "round")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """As many pictures as there are boxes, of `crop_size`, in the data's layout; `out_dtype` or the data's dtype."""
        data, boxes, chosen = tensor(types[0], "data"), tensor(types[1], "boxes"), tensor(types[2], "box_indices")
        if data is None or boxes is None or chosen is None:
            return None
        if self.crop_size is None or len(self.crop_size) != 2:
            raise RelationError("crop_size must have 2 elements")
        require_rank(boxes, 2, "boxes")
        require_rank(chosen, 1, "box_indices")
        require_integers(chosen, "box_indices")
        require_compatible(boxes.shape[0], chosen.shape[0], "the numbers of boxes and of box_indices")
        require_compatible(boxes.shape[1], 4, "axis 1 of boxes and the numbers of a box")
        self.resampling().check()
        base = list(convert_shape(data.shape, self.layout, "NCHW"))
        message = f"there is nothing to crop in {data}"
        reporter.require_elements((base[0], base[2], base[3]), boxes.shape[:1], message)
        base[0], base[2], base[3] = boxes.shape[0], self.crop_size[0], self.crop_size[1]
        return TensorType(convert_shape(base, "NCHW", self.layout), self.out_dtype or data.dtype)

    def evaluate(self, data: Any, boxes: Any, chosen: Any) -> Any:
        assert self.crop_size is not None
        method = self.resampling()
        layout = Layout.parse(self.layout)
        n, h, w = (layout.index(letter) for letter in "NHW")
        images = np.moveaxis(data, (h, w), (-2, -1))
        images = np.moveaxis(images, n - sum(a < n for a in (h, w)), 0)
        source = images[np.clip(chosen.astype(np.int64), 0, max(data.shape[n] - 1, 0))]
        flat = source.reshape(source.shape[0], prod(source.shape[1:-2]), *source.shape[-2:])
        out = np.empty((*flat.shape[:2], *self.crop_size), np.float32)
        for k, (image, (y1, x1, y2, x2)) in enumerate(zip(flat, boxes.astype(np.float32), strict=True)):
            y = _box_positions(y1, y2, image.shape[-2], self.crop_size[0])
            x = _box_positions(x1, x2, image.shape[-1], self.crop_size[1])
            rows, row_weights = taps_at(y, image.shape[-2], method)
            columns, column_weights = taps_at(x, image.shape[-1], method)
            total = np.zeros((image.shape[0], *self.crop_size), np.float32)
            for r, rw in zip(rows, row_weights, strict=True):
                line = image[:, r].astype(np.float32)
                part = sum(line[:, :, c] * cw for c, cw in zip(columns, column_weights, strict=True))
                total += part * rw[:, None]
            beyond = ((y < 0) | (y > image.shape[-2] - 1))[:, None] | ((x < 0) | (x > image.shape[-1] - 1))
            out[k] = np.where(beyond, np.float32(self.extrapolation_value), total)
        out = out.reshape(*source.shape[:-2], *self.crop_size)
        out = np.moveaxis(out, 0, n - sum(a < n for a in (h, w)))
        return convert(np.moveaxis(out, (-2, -1), (h, w)), self.out_dtype or data.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, boxes, chosen = inputs
        method = self.resampling()
        layout = Layout.parse(self.layout)
        n, h, w = (layout.index(letter) for letter in "NHW")

        def element(*i: Any) -> Any:
            image = te.max2(te.min2(te.cast(chosen[i[n]], "int32"), data.shape[n] - 1), 0)
            positions = []
            for axis, low in ((h, 0), (w, 1)):
                extent, target = data.shape[axis], out_type.shape[axis]
                start, end = te.cast(boxes[i[n], low], "float32"), te.cast(boxes[i[n], low + 2], "float32")
                positions.append(_box_position(start, end, extent, target, i[axis]))

            def read(y: Any, x: Any) -> Any:
                index = list(i)
                index[n], index[h], index[w] = image, y, x
                return te.cast(data[tuple(index)], "float32")

            extents = (data.shape[h], data.shape[w])
            value = interpolate(read, [taps_of(p, e, method) for p, e in zip(positions, extents, strict=True)])
            beyond = [te.any(p < 0, p > e - 1) for p, e in zip(positions, extents, strict=True)]
            value = te.select(te.any(*beyond), te.const(self.extrapolation_value, "float32"), value)
            return te.cast(value, out_type.dtype)

        return te.compute(out_type.shape, element, name="crop_and_resize", tag="injective")


def _box_positions(start: Any, end: Any, extent: int, target: int) -> Any:
    last = np.float32(extent - 1)
    if target == 1:
        return np.array([np.float32(0.5) * (start + end) * last])
    return start * last + (last * (end - start) / np.float32(target - 1)) * np.arange(target, dtype=np.float32)


def _box_position(start: Any, end: Any, extent: int, target: int, i: Any) -> Any:
    last = te.const(extent - 1, "float32")
    if target == 1:
        return te.const(0.5, "float32") * (start + end) * last
    return start * last + (last * (end - start) / te.const(target - 1, "float32")) * te.cast(i, "float32")


__all__ = ["CropAndResize", "Map", "Resize1D", "Resize2D", "Resize3D", "resize_array", "resize_tensor", "set_spatial"]
