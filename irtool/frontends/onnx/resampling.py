"""Resampling along one axis, with constants that are made while importing: source positions, neighbours and weights.

Positions are computed in float32, as ONNX Runtime does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...deferred import np
from ...diagnostics import IrError
from ...ir.attributes import formulas
from ...symbolic_int import bound
from .arithmetic import add, cast, multiply
from .memory_limit import counted, filled, require_room
from .mistakes import DamagedModel, UnknownExtent
from .value import Value


@dataclass(frozen=True)
class Filter:
    """The interpolation between samples: attributes of Resize that hold for all axes.

    Attributes:
        mode: nearest, linear or cubic.
        coordinates: the coordinate transformation mode.
        rounding: the nearest mode; `simple` is that before there was one.
        cubic: the coefficient of the cubic kernel.
        antialias: True if shrinking widens the kernel.
        exclude: True if neighbours beyond the data have no weight.
        beyond: the value of positions beyond the data, of `tf_crop_and_resize`.
    """

    mode: str = "nearest"
    coordinates: str = "half_pixel"
    rounding: str = "round_prefer_floor"
    cubic: float = -0.75
    antialias: bool = False
    exclude: bool = False
    beyond: float = 0.0


_COORDINATES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")


def is_image_filter(x: Value, way: Filter) -> bool:
    """True if `image.resize*` computes this of a tensor whose sizes have the ratio that the scales say."""
    if way.coordinates not in _COORDINATES or way.antialias or (way.exclude and way.mode != "cubic"):
        return False
    if x.dtype != "float32" and (way.mode != "nearest" or x.dtype == "float64"):
        return False
    # With asymmetric coordinates and any rounding it repeats elements, as TVM does.
    return not (way.mode == "nearest" and way.coordinates == "asymmetric" and way.rounding not in ("floor", "simple"))


def image_attributes(way: Filter, rounding: str) -> dict[str, Any]:
    """The attributes of `image.resize*` that say the same."""
    return {
        "method": "nearest_neighbor" if way.mode == "nearest" else way.mode,
        "coordinate_transformation_mode": way.coordinates,
        "rounding_method": rounding if way.mode == "nearest" else "",
        "cubic_alpha": way.cubic,
        "cubic_exclude": int(way.exclude),
    }


@dataclass(frozen=True)
class AxisResize:
    """One axis: its extents before and after, the scale, and the region (start, end) in units of the extent."""

    axis: int
    size: int
    target: int
    scale: float
    region: tuple[float, float] = (0.0, 1.0)

    @property
    def exact(self) -> bool:
        """True if the scale is the ratio of the extents."""
        if formulas([self.size, self.target]):
            scale = Fraction(self.scale) if math.isfinite(self.scale) else None
            return scale is None or self.size * scale.numerator == self.target * scale.denominator
        return abs(self.target - self.scale * self.size) <= 1e-5 * self.target


def scaled_length(size: int, scale: float) -> int:
    """A length times a scale, rounded down. Raises IrError for a scale with which float32 rounds the products."""
    exact = Fraction(float(np.float32(scale)))
    if bound(size) * exact.numerator >= 1 << 24:
        raise IrError(
            f"{size} * {scale} has no formula; scales such as 2, 1.5 and 0.5 have one",
            code=UnknownExtent,
        )
    return size * exact.numerator // exact.denominator


def scale_of(size: int, target: int) -> float:
    """The ratio of two extents, if all lengths have the same; else NaN: the extents decide."""
    ratio = Fraction(bound(target), max(bound(size), 1))
    return float(ratio) if size * ratio.numerator == target * ratio.denominator else math.nan


def positions(a: AxisResize, coordinates: str) -> np.ndarray:
    """The source position of each position of the result."""
    one = np.float32
    x = counted(a.target, "an axis of a resize", "float32")
    scale, size = one(a.scale), one(a.size)
    if coordinates == "half_pixel":
        return (x + one(0.5)) / scale - one(0.5)
    if coordinates == "half_pixel_symmetric":
        offset = size / one(2) * (one(1) - one(a.target) / (scale * size))
        return offset + (x + one(0.5)) / scale - one(0.5)
    if coordinates == "pytorch_half_pixel":
        return (x + one(0.5)) / scale - one(0.5) if a.target > 1 else np.zeros_like(x)
    if coordinates == "asymmetric":
        return x / scale
    if coordinates == "tf_half_pixel_for_nn":
        return (x + one(0.5)) / scale
    width = scale * size  # not rounded to the extent
    if coordinates == "align_corners":
        return x * (size - one(1)) / (width - one(1)) if width != 1 and a.target > 1 else np.zeros_like(x)
    if coordinates == "tf_crop_and_resize":
        start, end = (one(r) for r in a.region)
        if a.target > 1:
            return start * (size - one(1)) + x * (end - start) * (size - one(1)) / (width - one(1))
        return one(0.5) * (start + end) * (size - one(1)) + np.zeros_like(x)
    raise IrError(f"coordinate_transformation_mode is {coordinates}, which ONNX does not have", code=DamagedModel)


def nearest(points: np.ndarray, rounding: str, scale: float) -> np.ndarray:
    """The index nearest to each position."""
    half = np.float32(0.5)
    if rounding == "simple":
        rounding = "ceil" if scale < 1 else "floor"
    if rounding == "round_prefer_floor":
        return np.ceil(points - half)
    if rounding == "round_prefer_ceil":
        return np.floor(points + half)
    if rounding == "floor":
        return np.floor(points)
    if rounding == "ceil":
        return np.ceil(points)
    raise IrError(f"nearest_mode is {rounding}, which ONNX does not have", code=DamagedModel)


def neighbours(a: AxisResize, f: Filter) -> tuple[np.ndarray, np.ndarray]:
    """Source indices and weights of each position of the result, both of shape (neighbours, extent after)."""
    points = positions(a, f.coordinates).astype("float64")
    radius = 1 if f.mode == "linear" else 2
    shrink = min(a.scale, 1.0) if f.antialias else 1.0
    reach = int(np.ceil(radius / shrink))
    require_room((2 * reach, a.target), "the neighbours along an axis of a resize")
    index = np.floor(points).astype("int64") + (counted(2 * reach, "neighbours") + 1 - reach)[:, None]
    distance = np.abs(index - points) * shrink
    if f.mode == "linear":
        weights = np.clip(1 - distance, 0, 1)
    else:
        c = f.cubic
        near = ((c + 2) * distance - (c + 3)) * distance * distance + 1
        far = ((c * distance - 5 * c) * distance + 8 * c) * distance - 4 * c
        weights = np.where(distance <= 1, near, np.where(distance < 2, far, 0))
    if f.exclude:
        weights = np.where((index < 0) | (index >= a.size), 0, weights)
    if f.exclude or f.antialias:
        total = weights.sum(0)
        weights = weights / np.where(total == 0, 1, total)
    return np.clip(index, 0, a.size - 1), weights


_GATHERED = 4
"""Neighbours up to which each is gathered; of more, the axis is multiplied by a matrix."""


def resample(x: Value, a: AxisResize, f: Filter) -> Value:
    """The tensor with one axis resampled."""
    if a.target == 0:
        return x.call("strided_slice", begin=[0], end=[0], strides=[1], axes=[a.axis])
    if f.mode == "nearest":
        points = positions(a, f.coordinates)
        index = np.clip(nearest(points, f.rounding, a.scale), 0, a.size - 1).astype("int32")
        value = (
            x
            if len(index) == a.size and np.array_equal(index, counted(a.size, "an axis of a resize"))
            else x.call("take", Value.constant(index), axis=a.axis)
        )
    else:
        value = _weighted(x, a, *neighbours(a, f))
    if f.coordinates != "tf_crop_and_resize":
        return value
    points = positions(a, f.coordinates)
    beyond = (points < 0) | (points > a.size - 1)
    if not beyond.any():
        return value
    mask = Value.constant(beyond.reshape([-1 if k == a.axis else 1 for k in range(x.rank)]))
    return mask.call("where", Value.constant(np.asarray(f.beyond), x.dtype), value)


def _weighted(x: Value, a: AxisResize, index: np.ndarray, weights: np.ndarray) -> Value:
    if len(index) > _GATHERED:
        matrix = filled((a.target, a.size), 0.0, "the matrix of a resize")
        np.add.at(matrix, (counted(a.target, "an axis of a resize")[None, :].repeat(len(index), 0), index), weights)
        return _product(x, a.axis, matrix)
    total = None
    for neighbours_of_tap, w in zip(index, weights, strict=True):
        if not w.any():
            continue
        factor = Value.constant(w.reshape([-1 if k == a.axis else 1 for k in range(x.rank)]), x.dtype)
        term = multiply(x.call("take", Value.constant(neighbours_of_tap.astype("int32")), axis=a.axis), factor)
        total = term if total is None else add(total, term)
    assert total is not None
    return total


def _product(x: Value, axis: int, matrix: np.ndarray) -> Value:
    """The vectors along an axis times a matrix."""
    order = [k for k in range(x.rank) if k != axis] + [axis]
    back = [order.index(k) for k in range(x.rank)]
    moved = x.call("transpose", axes=order)
    product = moved.call("nn.dense", Value.constant(matrix, x.dtype), units=matrix.shape[0])
    return product.call("transpose", axes=back)


def in_floats(x: Value, dtype: str) -> Value:
    """A floating-point result in the type of the data: integers rounded and kept in range."""
    if x.dtype == dtype or np.dtype(dtype).kind not in "iu":
        return cast(x, dtype)
    info = np.iinfo(dtype)
    return cast(x.call("round").call("clip", a_min=float(info.min), a_max=float(info.max)), dtype)
