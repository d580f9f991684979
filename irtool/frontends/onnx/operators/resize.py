"""Images in other sizes."""

from __future__ import annotations

from collections.abc import Sequence

from ....deferred import np
from ....diagnostics import IrError
from ....ir.attributes import formulas
from ....ir.dims import is_number
from ..arithmetic import cast
from ..counts import MOST
from ..mistakes import DamagedModel, UnknownExtent
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..resampling import (
    AxisResize,
    Filter,
    image_attributes,
    in_floats,
    is_image_filter,
    resample,
    scale_of,
    scaled_length,
)
from ..value import Value
from .computed_resize import resize_to_computed

OLD = Filter(coordinates="asymmetric", rounding="simple")
"""What was computed before there were attributes to say it."""


@onnx_operator("Upsample")
class Upsample(OnnxOperator):
    """The tensor in a larger size, by the nearest element before or linearly."""

    @since(7)
    def by_attribute(self, x: Value, *, scales: tuple[float, ...], mode: str = "nearest") -> Result:
        return resize(x, scaled(x, scales), Filter(_mode(mode), OLD.coordinates, OLD.rounding))

    @since(9, 10)
    def by_input(self, x: Value, scales: Value, *, mode: str = "nearest") -> Result:
        return self.by_attribute(x, scales=_floats(scales, "the scales"), mode=mode)


@onnx_operator("Resize")
class Resize(OnnxOperator):
    """The tensor in another size, by `scales` or to `sizes`: nearest, linear or cubic, with all of ONNX's coordinates.

    It is `image.resize*` where that computes the same, else gathers and products with constants.
    """

    @since(10)
    def by_scales(self, x: Value, scales: Value, *, mode: str = "nearest") -> Result:
        sizes = scaled(x, _floats(scales, "the scales"))
        return resize(x, sizes, Filter(_mode(mode), OLD.coordinates, OLD.rounding))

    @since(11, 13, 18, 19, added={"antialias": 18, "axes": 18, "keep_aspect_ratio_policy": 18})
    def along_axes(
        self,
        x: Value,
        roi: Value | None = None,
        scales: Value | None = None,
        sizes: Value | None = None,
        *,
        antialias: int = 0,
        axes: tuple[int, ...] | None = None,
        coordinate_transformation_mode: str = "half_pixel",
        cubic_coeff_a: float = -0.75,
        exclude_outside: int = 0,
        extrapolation_value: float = 0.0,
        keep_aspect_ratio_policy: str = "stretch",
        mode: str = "nearest",
        nearest_mode: str = "round_prefer_floor",
    ) -> Result:
        named = x.axes(range(x.rank) if axes is None else axes)
        regions = None
        if coordinate_transformation_mode == "tf_crop_and_resize":
            if roi is None:
                raise IrError("tf_crop_and_resize needs the region roi", code=DamagedModel)
            regions = _floats(roi, "the roi")
        way = Filter(
            _mode(mode),
            coordinate_transformation_mode,
            nearest_mode,
            cubic_coeff_a,
            bool(antialias),
            bool(exclude_outside),
            extrapolation_value,
        )
        if sizes is not None and not sizes.is_determined("the sizes of Resize"):
            result = resize_to_computed(x, sizes, named, way) if keep_aspect_ratio_policy == "stretch" else None
            if result is not None:
                return result
        if sizes is not None and sizes.shape != (0,):
            target = sized(x, sizes.ints("the sizes of Resize"), named, keep_aspect_ratio_policy, regions)
        elif scales is not None:
            target = scaled(x, _floats(scales, "the scales"), named, regions)
        else:
            raise IrError("neither scales nor sizes are given", code=DamagedModel)
        return resize(x, target, way)


def _mode(mode: str) -> str:
    result = {"bilinear": "linear", "trilinear": "linear"}.get(mode, mode)
    if result not in ("nearest", "linear", "cubic"):
        raise IrError(f"mode is {mode}, which ONNX does not have", code=DamagedModel)
    return result


def _floats(value: Value, what: str) -> tuple[float, ...]:
    return tuple(float(v) for v in value.array(f"{what} of the resize").ravel())


def scaled(
    x: Value, scales: Sequence[float], axes: Sequence[int] | None = None, regions: Sequence[float] | None = None
) -> list[AxisResize]:
    """The axes with their extents times the scales, rounded down."""
    named = range(x.rank) if axes is None else axes
    if len(scales) != len(named) or any(not s > 0 for s in scales):
        raise IrError(f"the scales are {list(scales)} for {len(named)} axes", code=DamagedModel)
    cropped = regions is not None
    result = []
    for k, (a, s) in enumerate(zip(named, scales, strict=True)):
        if s == 1 and not cropped:
            continue  # for any extent
        size = x.extent(a, "the data of a resize")
        if not is_number(size):
            result.append(AxisResize(a, size, scaled_length(size, s), s, _region(regions, k, len(named))))
            continue
        scaled_size = float(np.floor(np.float32(size) * np.float32(s)))
        if not scaled_size <= MOST:
            raise IrError(f"axis {a} of {x.tensor} times {s} is too long", code=DamagedModel)
        target = int(scaled_size)
        result.append(AxisResize(a, size, target, s, _region(regions, k, len(named))))
    return result


def sized(
    x: Value, sizes: Sequence[int], axes: Sequence[int], policy: str, regions: Sequence[float] | None
) -> list[AxisResize]:
    """The axes with the extents that are asked for, or, to keep their ratio, as near as the policy says."""
    if len(sizes) != len(axes) or any(s < 0 for s in sizes):
        raise IrError(f"the sizes are {list(sizes)} for {len(axes)} axes", code=DamagedModel)
    shape = {a: x.extent(a, "the data of a resize") for a in axes}
    if any(n and not shape[a] for a, n in zip(axes, sizes, strict=True)):
        raise IrError(f"{x.tensor} has no elements to resize", code=DamagedModel)
    if formulas([*sizes, *shape.values()]):
        if policy != "stretch":
            raise IrError("extents that only the run knows keep no ratio", code=UnknownExtent)
        return [
            AxisResize(a, shape[a], n, scale_of(shape[a], n), _region(regions, k, len(axes)))
            for k, (a, n) in enumerate(zip(axes, sizes, strict=True))
        ]
    ratios = [n / shape[a] if shape[a] else 1.0 for a, n in zip(axes, sizes, strict=True)]
    if policy != "stretch":
        if policy not in ("not_larger", "not_smaller"):
            raise IrError(f"keep_aspect_ratio_policy is {policy}, which ONNX does not have", code=DamagedModel)
        ratios = [min(ratios) if policy == "not_larger" else max(ratios)] * len(axes)
        sizes = [int(r * shape[a] + 0.5) for a, r in zip(axes, ratios, strict=True)]
    return [
        AxisResize(a, shape[a], n, r, _region(regions, k, len(axes)))
        for k, (a, n, r) in enumerate(zip(axes, sizes, ratios, strict=True))
    ]


def _region(regions: Sequence[float] | None, k: int, n: int) -> tuple[float, float]:
    if regions is None:
        return (0.0, 1.0)
    if len(regions) != 2 * n:
        raise IrError(f"roi has {len(regions)} numbers for {n} axes", code=DamagedModel)
    return (regions[k], regions[n + k])


def resize(x: Value, axes: Sequence[AxisResize], way: Filter) -> Value:
    """The tensor with these axes resampled; those that stay as they are, are left alone."""
    cropped = way.coordinates == "tf_crop_and_resize"
    changed = [a for a in axes if a.size != a.target or abs(a.scale - 1) > 1e-6 or (cropped and a.region != (0.0, 1.0))]
    if not changed:
        return x
    if (value := image_resize(x, changed, way)) is not None:
        return value
    if formulas([[a.size, a.target] for a in changed]):
        raise IrError(
            f"{x.tensor} has no form in Relay with axes of other lengths and {way.coordinates} coordinates, unless they are "
            "the spatial ones of an image",
            code=UnknownExtent,
        )
    wide = x if way.mode == "nearest" or x.dtype in ("float32", "float64") else cast(x, "float32")
    for a in sorted(changed, key=lambda a: a.target * 1.0 / a.size):
        wide = resample(wide, a, way)
    return in_floats(wide, x.dtype)


_IMAGES = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def image_resize(x: Value, axes: Sequence[AxisResize], way: Filter) -> Value | None:
    """`image.resize1d`, `2d` or `3d`, where one computes the same; None elsewhere."""
    n = x.rank - 2
    spatial = {a.axis: a for a in axes}
    if n not in _IMAGES or min(spatial) < 2 or not all(a.exact for a in axes):
        return None
    if not is_image_filter(x, way):
        return None
    rounding = way.rounding
    if rounding == "simple":
        if any(not a.scale >= 1 for a in axes):
            return None
        rounding = "floor"
    shape = [0, 0, *(x.extent(a, "the data of a resize") for a in range(2, x.rank))]
    return x.call(
        f"image.resize{n}d",
        size=[spatial[k].target if k in spatial else shape[k] for k in range(2, x.rank)],
        roi=[0.0] * (2 * n),
        layout=_IMAGES[n],
        **image_attributes(way, rounding),
    )
