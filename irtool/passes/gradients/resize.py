"""Gradients of operators that resize: along each axis, the transposed interpolation."""

from __future__ import annotations

from collections.abc import Sequence

from ...deferred import np
from ...ir import Expr
from ...ops.base import call
from ...ops.image.resample import Method, map_axis, outside, resample
from ...ops.image.resize import spatial_axes
from ...ops.nn.upsampling import upsampling3d_method, upsampling_method
from .linear import transposed_along_axis
from .rule import GradientSite, gradient


def _resized(
    s: GradientSite, axes: Sequence[int], method: Method, roi: Sequence[tuple[float, float]] = (), exact: bool = False
) -> list[Expr]:
    """The gradient of data whose `axes` are resampled by `method`."""
    dtype = s.result_dtype
    grad, shape = s.grad, list(s.result_shape)
    for axis, (start, end) in zip(axes, roi or [(0.0, 0.0)] * len(axes), strict=True):
        extent, target = s.shape()[axis], shape[axis]
        if not extent or not target:
            return [call("zeros_like", s.args[0])]
        map = map_axis(extent, target, method, start, end, exact)
        weights = resample(np.eye(extent, dtype="float32"), 0, map, target, method)
        if method.coordinates == "tf_crop_and_resize":  # beyond the data is a constant
            weights = np.where(outside(map, target)[:, None], 0, weights)
        grad = transposed_along_axis(grad, shape, dtype, axis, weights)
        shape[axis] = extent
    return [grad if dtype == s.dtype else call("cast_like", grad, s.args[0])]


@gradient("image.resize1d", "image.resize2d", "image.resize3d")
def resize(s: GradientSite) -> list[Expr]:
    """The transposed interpolation along each axis."""
    a = s.attrs
    exact = len(a.canonical) == 4
    return _resized(s, spatial_axes(a.layout, a.canonical), a.resampling(), a.bounds(a.roi), exact)


@gradient("nn.upsampling")
def upsampling(s: GradientSite) -> list[Expr]:
    """The transposed interpolation along each axis."""
    method = upsampling_method(s.attrs.method, s.attrs.align_corners)
    return _resized(s, spatial_axes(s.attrs.layout, "NCHW"), method, exact=True)


@gradient("nn.upsampling3d")
def upsampling3d(s: GradientSite) -> list[Expr]:
    """The transposed interpolation along each axis."""
    method = upsampling3d_method(s.attrs.method, s.attrs.coordinate_transformation_mode)
    return _resized(s, spatial_axes(s.attrs.layout, "NCDHW"), method)
