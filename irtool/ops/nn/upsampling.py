"""`nn.upsampling` and `nn.upsampling3d`: images and volumes enlarged by a factor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...deferred import np
from ...ir import TensorType, Type
from ...ir.dims import ANY, Dim, DimExpr, Int64
from ...symbolic_int import SymbolicInt, bound
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..image.resample import Method
from ..image.resize import resize_array, resize_tensor, set_spatial, spatial_axes
from ..layout import convert_shape
from ..shapes import dim_dtype, tensor


def scale_dim(dim: Dim, scale: float) -> Dim:
    """`dim * scale`, rounded to the nearest, halves away from zero. A symbolic dimension stays symbolic."""
    if not math.isfinite(scale) or scale < 0:
        raise RelationError(f"a dimension cannot be scaled by {scale}")
    if dim is ANY:
        return ANY
    if isinstance(dim, SymbolicInt):
        return _scaled_formula(dim, scale)
    if isinstance(dim, int):
        # float32, which TVM multiplies in, decides on which side of a half a product falls
        scaled = float(np.float32(dim) * np.float32(scale))
        size = math.floor(abs(scaled) + 0.5) * (1 if scaled >= 0 else -1)
        return Int64(size) if isinstance(dim, Int64) else size
    if scale == 1:
        return dim
    product = DimExpr("Mul", (DimExpr("Cast", (dim,), "float64"), scale), "float64")
    return DimExpr("Cast", (DimExpr("round", (product,), "float64"),), dim_dtype(dim))


def _scaled_formula(dim: SymbolicInt, scale: float) -> int:
    """`dim * scale` rounded, for scales of few binary digits, whose products are exact in float32: 2, 1.5, 0.25 …"""
    exact = Fraction(float(np.float32(scale)))
    if bound(dim) * exact.numerator >= 1 << 24:
        raise RelationError(f"{dim} * {scale} has no formula; scales such as 2, 1.5 and 0.5 have one")
    return (2 * exact.numerator * dim + exact.denominator) // (2 * exact.denominator)


def scaled_shape(shape: Sequence[Dim], layout: str, canonical: str, scales: Sequence[float]) -> tuple[Dim, ...]:
    """The shape with its spatial axes scaled."""
    spatial = convert_shape(shape, layout, canonical)[2:]
    return set_spatial(shape, layout, canonical, [scale_dim(d, s) for d, s in zip(spatial, scales, strict=True)])


def upsampling_method(method: str, align_corners: bool) -> Method:
    """The interpolation of `nn.upsampling`. Raises RelationError for an unknown method."""
    known = {"nearest_neighbor": "nearest_neighbor", "bilinear": "linear", "linear": "linear"}
    known |= {"bicubic": "cubic", "cubic": "cubic"}
    if method not in known:
        raise RelationError(f'method is "{method}"; it can be "nearest_neighbor", "bilinear" or "bicubic"')
    return Method(known[method], "align_corners" if align_corners else "asymmetric", "")


def upsampling3d_method(method: str, coordinates: str) -> Method:
    """The interpolation of `nn.upsampling3d`. Raises RelationError for an unknown method or coordinate mode."""
    name = method[3:] if method.startswith("tri") else method
    result = Method(name, coordinates, "")
    result.check()
    return result


@operator("nn.upsampling", "data", pattern=Pattern.INJECTIVE, attrs="UpSamplingAttrs", level=2)
@dataclass(frozen=True)
class UpSampling(Operator):
    """An image enlarged `scale_h` times in height and `scale_w` times in width.

    `method` is `nearest_neighbor`, `bilinear` or `bicubic`; sizes are rounded to the nearest.
    """

    scale_h: float
    scale_w: float
    layout: str = "NCHW"
    method: str = "nearest_neighbor"
    align_corners: bool = False

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; height and width times `scale_h` and `scale_w`, rounded."""
        data = tensor(types[0])
        if data is None:
            return None
        upsampling_method(self.method, self.align_corners)
        return TensorType(scaled_shape(data.shape, self.layout, "NCHW", (self.scale_h, self.scale_w)), data.dtype)

    def evaluate(self, data: Any) -> Any:
        axes = spatial_axes(self.layout, "NCHW")
        size = [scale_dim(data.shape[a], s) for a, s in zip(axes, (self.scale_h, self.scale_w), strict=True)]
        method = upsampling_method(self.method, self.align_corners)
        return resize_array(data, axes, size, method, str(data.dtype), exact=True)  # type: ignore[arg-type]  # of an array, whose extents are numbers

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        method = upsampling_method(self.method, self.align_corners)
        axes = spatial_axes(self.layout, "NCHW")
        return resize_tensor(inputs[0], axes, out_type.shape, method, out_type.dtype, exact=True, name="upsampling")


@operator("nn.upsampling3d", "data", pattern=Pattern.INJECTIVE, attrs="UpSampling3DAttrs", level=2)
@dataclass(frozen=True)
class UpSampling3D(Operator):
    """A volume enlarged `scale_d`, `scale_h` and `scale_w` times; `method` is `nearest_neighbor` or `trilinear`."""

    scale_d: float
    scale_h: float
    scale_w: float
    layout: str = "NCDHW"
    method: str = "nearest_neighbor"
    coordinate_transformation_mode: str = "half_pixel"

    one_dtype = ("data", "result")

    @property
    def scales(self) -> tuple[float, float, float]:
        return self.scale_d, self.scale_h, self.scale_w

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; depth, height and width times `scale_d`, `scale_h` and `scale_w`, rounded."""
        data = tensor(types[0])
        if data is None:
            return None
        upsampling3d_method(self.method, self.coordinate_transformation_mode)
        return TensorType(scaled_shape(data.shape, self.layout, "NCDHW", self.scales), data.dtype)

    def evaluate(self, data: Any) -> Any:
        axes = spatial_axes(self.layout, "NCDHW")
        size = [scale_dim(data.shape[a], s) for a, s in zip(axes, self.scales, strict=True)]
        method = upsampling3d_method(self.method, self.coordinate_transformation_mode)
        return resize_array(data, axes, size, method, str(data.dtype))  # type: ignore[arg-type]  # of an array, whose extents are numbers

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        method = upsampling3d_method(self.method, self.coordinate_transformation_mode)
        axes = spatial_axes(self.layout, "NCDHW")
        return resize_tensor(inputs[0], axes, out_type.shape, method, out_type.dtype, name="upsampling3d")
