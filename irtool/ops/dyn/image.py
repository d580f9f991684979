"""Dynamic operators on images: `dyn.image.resize2d`, `dyn.nn.upsampling`, `upsampling3d`, `dyn.nn.pad`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from ...ir import TensorType, Type
from ...ir.dims import ANY
from ..base import VOID, DType, Pattern, RelationError, Reporter, operator
from ..image.resample import Method
from ..image.resize import set_spatial
from ..nn.pad import require_pad_mode
from ..nn.upsampling import upsampling3d_method, upsampling_method
from ..shapes import require_compatible, require_one_number, require_rank, require_scalar, tensor
from .base import Dynamic, all_known, number, unknown_shape, whole


@operator("dyn.image.resize2d", "data", "size", "roi", pattern=Pattern.INJECTIVE, attrs="Resize2DAttrs", level=5)
@dataclass(frozen=True)
class DynResize2D(Dynamic):
    """`image.resize2d` with the size and the region of interest given by vectors."""

    shape_from_data = True

    size: tuple[int, ...] | None = None
    roi: tuple[float, ...] | None = None
    layout: str = "NCHW"
    method: str = "linear"
    coordinate_transformation_mode: str = "half_pixel"
    rounding_method: str = "round"
    cubic_alpha: float = -0.5
    cubic_exclude: int = 0
    extrapolation_value: float = 0.0
    out_dtype: DType = VOID
    static = "image.resize2d"
    moving = (1, 2)

    dtype_attribute = "out_dtype"
    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's layout with `?` for height and width; `out_dtype` or the data's dtype."""
        Method(self.method.lower(), self.coordinate_transformation_mode, self.rounding_method).check()
        data = tensor(types[0], "data")
        for type, name in zip(types[1:], self.arguments[1:], strict=True):
            tensor(type, name)
        if data is None:
            return None
        shape = set_spatial(data.shape, self.layout, "NCHW", (ANY, ANY))
        return TensorType(shape, self.out_dtype or data.dtype)

    def attributes(self, *values: Any) -> dict[str, Any]:
        same = {f.name: getattr(self, f.name) for f in fields(self)}
        size, roi = values
        return {**same, "size": [whole(v) for v in size.reshape(-1)], "roi": [float(v) for v in roi.reshape(-1)]}


@operator("dyn.nn.pad", "data", "pad_width", "pad_val", pattern=Pattern.INJECTIVE, attrs="PadAttrs", level=2)
@dataclass(frozen=True)
class DynPad(Dynamic):
    """`nn.pad` with the widths given by a matrix, one row (before, after) per axis."""

    shape_from_data = True

    pad_width: tuple[tuple[int, ...], ...]
    pad_mode: str = "constant"
    static = "nn.pad"

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype, all axes `?`; the widths are `(rank, 2)`."""
        tensors = all_known(types, self.arguments)
        if tensors is None:
            return None
        data, widths, value = tensors
        require_pad_mode(self.pad_mode)
        if not data.shape:
            raise RelationError("a scalar cannot be padded")
        require_rank(widths, 2, "pad_width")
        require_compatible(widths.shape[0], len(data.shape), "the rows of pad_width and the rank of data")
        require_compatible(widths.shape[1], 2, "the columns of pad_width and the sides of an axis")
        require_scalar(value, "pad_val")
        return unknown_shape(len(data.shape), data.dtype)

    def attributes(self, *values: Any) -> dict[str, Any]:
        return {"pad_width": [[whole(w) for w in row] for row in values[0]], "pad_mode": self.pad_mode}


@operator(
    "dyn.nn.upsampling",
    "data",
    "scale_h",
    "scale_w",
    pattern=Pattern.INJECTIVE,
    attrs="UpSamplingAttrs",
    level=2,
)
@dataclass(frozen=True)
class DynUpSampling(Dynamic):
    """`nn.upsampling` with the scales given by scalar tensors."""

    shape_from_data = True

    scale_h: float
    scale_w: float
    layout: str = "NCHW"
    method: str = "nearest_neighbor"
    align_corners: bool = False
    static = "nn.upsampling"
    moving = (1, 2)

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype and layout with `?` for height and width; the scales are scalars."""
        upsampling_method(self.method, self.align_corners)
        tensors = all_known(types, self.arguments)
        if tensors is None:
            return None
        for scale, name in zip(tensors[1:], self.arguments[1:], strict=True):
            require_rank(scale, 0, name)
        return TensorType(set_spatial(tensors[0].shape, self.layout, "NCHW", (ANY, ANY)), tensors[0].dtype)

    def attributes(self, *values: Any) -> dict[str, Any]:
        same = {f.name: getattr(self, f.name) for f in fields(self)}
        return {**same, "scale_h": float(number(values[0])), "scale_w": float(number(values[1]))}


@operator(
    "dyn.nn.upsampling3d",
    "data",
    "scale_d",
    "scale_h",
    "scale_w",
    pattern=Pattern.INJECTIVE,
    attrs="UpSampling3DAttrs",
    level=2,
)
@dataclass(frozen=True)
class DynUpSampling3D(Dynamic):
    """`nn.upsampling3d` with the scales given by scalar tensors."""

    shape_from_data = True

    scale_d: float
    scale_h: float
    scale_w: float
    layout: str = "NCDHW"
    method: str = "nearest_neighbor"
    coordinate_transformation_mode: str = "half_pixel"
    static = "nn.upsampling3d"
    moving = (1, 2, 3)

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype and layout with `?` for depth, height and width; the scales are scalars."""
        upsampling3d_method(self.method, self.coordinate_transformation_mode)
        data = tensor(types[0], "data")
        if data is None:
            return None
        for type, name in zip(types[1:], self.arguments[1:], strict=True):
            require_one_number(tensor(type, name), name)
        return TensorType(set_spatial(data.shape, self.layout, "NCDHW", (ANY, ANY, ANY)), data.dtype)

    def attributes(self, *values: Any) -> dict[str, Any]:
        same = {f.name: getattr(self, f.name) for f in fields(self)}
        scales = dict(zip(("scale_d", "scale_h", "scale_w"), (float(number(v)) for v in values), strict=True))
        return {**same, **scales}
