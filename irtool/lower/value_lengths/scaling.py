"""The forms of `dyn.nn.upsampling` and `dyn.nn.upsampling3d`: sizes that scales decide, and images of these sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...infer.infer import infer_expr
from ...ir import Call, Expr, TensorType, Tuple
from ...ops.base import call
from ...ops.image.resample import EPSILON, Method
from ...ops.image.resize import spatial_axes
from ...ops.nn.upsampling import upsampling3d_method, upsampling_method
from ...passes.core.constants import scalar_constant
from .lengths import Lengths
from .ranges import Range


def scaled(forms: Lengths, e: Call) -> Expr | None:
    """The resized image. A scale that is negative, not finite, or too large ends a run with the error of a value beyond its bounds."""
    data, *scales = e.args
    t, attrs = data.checked_type, e.attrs
    if not isinstance(t, TensorType) or not t.is_static:
        return None
    is_volume = len(scales) == 3
    axes = spatial_axes(attrs.layout, "NCDHW" if is_volume else "NCHW")
    whole = call("shape_of", data, dtype="int64")
    extents = [call("take", whole, scalar_constant(a, "int64"), axis=0) for a in axes]
    sizes = [infer_expr(_size(x, s)) for x, s in zip(extents, scales, strict=True)]
    possible = [_possible(forms, x, s) for x, s in zip(extents, scales, strict=True)]
    vector = infer_expr(call("stack", Tuple(tuple(sizes)), axis=0))
    cut, numbers = forms.set_from(data, vector, possible, e, "the size")
    if is_volume:
        method = upsampling3d_method(attrs.method, attrs.coordinate_transformation_mode)
        return _resized("image.resize3d", cut, numbers, method, attrs.layout, e)
    method = upsampling_method(attrs.method, attrs.align_corners)
    if method.name != "nearest_neighbor" or method.coordinates != "asymmetric":
        return _resized("image.resize2d", cut, numbers, method, attrs.layout, e)
    for axis, extent, number, size in zip(axes, extents, numbers, sizes, strict=True):
        cut = call("take", cut, _nearest(extent, number, size), axis=axis, span=e.span)
    return cut


def _size(extent: Expr, scale: Expr) -> Expr:
    """The extent times the scale, in float32, rounded to the nearest; -1 for a scale that has no size."""
    product = call("multiply", call("cast", extent, dtype="float32"), call("cast", scale, dtype="float32"))
    number = call("cast", product, dtype="float64")
    zero = scalar_constant(0, "float64")
    has_size = call(
        "logical_and",
        call("greater_equal", call("cast", scale, dtype="float64"), zero),
        call("less", number, scalar_constant(2**31, "float64")),
    )
    rounded = call("floor", call("add", call("where", has_size, number, zero), scalar_constant(0.5, "float64")))
    return call("where", has_size, call("cast", rounded, dtype="int64"), scalar_constant(-1, "int64"))


def _possible(forms: Lengths, extent: Expr, scale: Expr) -> Range:
    product = call("multiply", call("cast", extent, dtype="float32"), call("cast", scale, dtype="float32"))
    r = forms.ranges.whole(infer_expr(product))
    return r if r.exact is not None else Range(0, r.high)


def _resized(name: str, data: Expr, size: Sequence[int], method: Method, layout: str, e: Call) -> Expr:
    region = [0.0] * (2 * len(size))
    attrs: dict[str, Any] = {"size": list(size), "roi": region, "layout": layout, "method": method.name}
    attrs |= {"coordinate_transformation_mode": method.coordinates, "rounding_method": method.rounding}
    return call(name, data, **attrs, span=e.span)


def _nearest(extent: Expr, number: int, size: Expr) -> Expr:
    """The place of each of `number` neighbours: by a division where all are repeated equally often, as `map_axis` has them."""
    zero, one = (scalar_constant(n, "int64") for n in (0, 1))
    step = call("length.steps", zero, one, shape=[number], dtype="int64")
    ratio = call("divide", *(call("cast", x, dtype="float64") for x in (extent, call("maximum", size, one))))
    position = call("multiply", call("cast", step, dtype="float32"), call("cast", ratio, dtype="float32"))
    place = call("floor", call("add", position, scalar_constant(EPSILON, "float32")))
    positive = call("maximum", extent, one)
    repeats = call("equal", call("floor_mod", size, positive), zero)
    times = call("maximum", call("floor_divide", size, positive), one)
    return call("where", repeats, call("floor_divide", step, times), call("cast", place, dtype="int64"))
