"""Operators with tensors in place of attributes, as their counterparts in ONNX have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ....ops.image.resize import spatial_axes
from ....ops.nn.upsampling import upsampling3d_method, upsampling_method
from ..form import Form, decomposed, form
from ..graph import Value
from ..site import OnnxSite
from .image import _COORDINATES, _MODES, _ROUNDINGS


@form("dyn.reshape")
@dataclass(frozen=True)
class Reshape(Form):
    """`Reshape`; the codes 0 and -3 are replaced by the extents that they take over, found with `Gather`"""

    direct: ClassVar[bool] = True
    differs: ClassVar[str] = "the codes -2 and -4, which change the number of axes, are refused while running"

    def emit(self, s: OnnxSite) -> Any:
        x, shape = s.inputs
        codes = s.cast(shape, "int64")
        count, rank = s.known(s.tensor(1), 0), len(s.tensor(0).shape)
        known = s.constants.arrays.get(shape.name)
        if known is not None and known[0].size and known[0].min() >= -1:
            return s.node("Reshape", x, codes)
        one = s.constant(1, "int64")
        extents = s.concat([s.shape(x), s.ints(*([1] * (2 * count + 1)))], 0) if count else s.shape(x)
        taken: Value = s.constant(0, "int64")  # axes of the data that the codes so far stand for
        values: list[Value] = []
        for i in range(count):
            code = s.node("Gather", codes, s.constant(i, "int64"), axis=0)
            merges = s.compare("Equal", code, s.constant(-3, "int64"))
            here = s.node("Gather", extents, taken, axis=0)
            after = s.add(taken, one)
            both = s.mul(here, s.node("Gather", extents, after, axis=0))
            copied = s.where(s.compare("Equal", code, s.constant(0, "int64")), here, code)
            values.append(s.unsqueeze(s.where(merges, both, copied), 0))
            taken = s.add(after, s.cast(merges, "int64"))
        if not values or not rank:
            return s.node("Reshape", x, codes)
        return s.node("Reshape", x, s.concat(values, 0), allowzero=1)


@form("dyn.broadcast_to")
@dataclass(frozen=True)
class BroadcastTo(Form):
    """`Expand`"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        return s.node("Expand", s.inputs[0], s.cast(s.inputs[1], "int64"))


@form("dyn.zeros", "dyn.ones", "dyn.full")
@dataclass(frozen=True)
class Filled(Form):
    """`Expand` of a scalar"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        *fill, shape = s.inputs
        value = s.cast(fill[0], s.out.dtype) if fill else s.constant(int(s.attrs.name == "dyn.ones"), s.out.dtype)
        return s.node("Expand", value, s.cast(shape, "int64"))


@form("dyn.tile")
@dataclass(frozen=True)
class Tile(Form):
    """`Tile`, of the tensor with as many axes as there are repetitions"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        x, reps = s.inputs
        rank, count = len(s.tensor(0).shape), len(s.out.shape)
        given_count = s.dims(1)[0]
        if given_count < count:
            reps = s.concat([s.ints(*([1] * (count - given_count))), s.cast(reps, "int64")], 0)
        return s.node("Tile", s.unsqueeze(x, *range(count - rank)), s.cast(reps, "int64"))


@form("dyn.squeeze", "dyn.expand_dims")
@dataclass(frozen=True)
class Axes(Form):
    """`Squeeze` or `Unsqueeze`"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        x, axes = s.inputs
        if s.attrs.name == "dyn.squeeze":
            return s.node("Squeeze", x, s.cast(axes, "int64"))
        count, rank = int(s.attrs.num_newaxis), len(s.tensor(0).shape)
        if not count:
            return s.node("Identity", x)
        first = s.reshape(s.cast(axes, "int64"), [1])
        if count > 1:  # the axis is counted in the rank of the data, plus one
            back = s.compare("Less", first, s.ints(0))
            first = s.add(s.where(back, s.add(first, s.ints(rank + 1)), first), s.ints(*range(count)))
        return s.node("Unsqueeze", x, first)


@form("dyn.strided_slice")
@dataclass(frozen=True)
class StridedSlice(Form):
    """`Slice`"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        x, begin, end, strides, *_ = (s.cast(v, "int64") if i else v for i, v in enumerate(s.inputs))
        if s.attrs.slice_mode != "end":
            s.refuse("Slice takes ends, not sizes")
        axes = s.attrs.axes
        named = s.axes(0, axes) if axes else list(range(s.dims(1)[0]))
        if s.dims(3)[0] != len(named):
            s.refuse("there are fewer strides than axes")
        return s.node("Slice", x, begin, end, s.ints(*named), strides)


@form("dyn.topk")
@dataclass(frozen=True)
class TopK(Form):
    """`TopK`"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        x, k = s.inputs
        attrs = s.attrs
        axis = s.axes(0, [attrs.axis])[0]
        wide = x.dtype if x.dtype in ("float16", "float32", "float64", "int32", "int64") else "int64"
        count = s.reshape(s.cast(k, "int64"), [1])
        extent = s.slice(s.shape(x), [axis], [axis + 1], [0])
        count = s.where(s.compare("Less", count, s.ints(1)), extent, count)  # fewer than one: all
        values, indices = s.nodes(
            "TopK",
            2,
            s.cast(x, wide),
            count,
            dtypes=[wide, "int64"],
            axis=axis,
            largest=int(not attrs.is_ascend),
            sorted=1,
        )
        values = s.cast(values, x.dtype)
        if attrs.ret_type == "values":
            return values
        indices = s.cast(indices, (s.out if attrs.ret_type == "indices" else s.fields[1]).dtype)
        return indices if attrs.ret_type == "indices" else (values, indices)


@form("dyn.nn.pad")
@dataclass(frozen=True)
class Pad(Form):
    """`Pad`, the widths transposed and flattened"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        x, widths, fill = s.inputs
        pads = s.reshape(s.transpose(s.cast(widths, "int64"), [1, 0]), [-1])
        mode = s.attrs.pad_mode
        return s.node("Pad", x, pads, s.reshape(s.cast(fill, x.dtype), []) if mode == "constant" else None, mode=mode)


@decomposed("`Equal` with a `Range` up to the depth, `Where`", "dyn.one_hot")
def one_hot(s: OnnxSite) -> Value:
    index, on, off, depth = s.inputs
    attrs, rank = s.attrs, len(s.tensor(0).shape)
    axis = attrs.axis % (rank + 1)
    positions = s.node("Range", s.constant(0, "int64"), s.reshape(s.cast(depth, "int64"), []), s.constant(1, "int64"))
    hit = s.compare(
        "Equal", s.cast(s.unsqueeze(index, axis), "int64"), s.unsqueeze(positions, *range(1, rank - axis + 1))
    )
    return s.where(hit, *(s.reshape(s.cast(v, s.out.dtype), []) for v in (on, off)))


@decomposed("`Expand` of the default, `ScatterND`", "dyn.sparse_to_dense", "sparse_to_dense")
def sparse_to_dense(s: OnnxSite) -> Value:
    indices, values, default, *shape = s.inputs
    extents = s.cast(shape[0], "int64") if shape else s.ints(*s.static(s.out))
    base = s.node("Expand", s.reshape(s.cast(default, values.dtype), []), extents)
    rank = len(s.tensor(0).shape)
    if rank < 2:
        count = len(s.out.shape)
        indices = s.reshape(indices, [-1, 1] if count == 1 else [1, -1])
        values = s.reshape(values, [-1])
    elif not s.tensor(1).shape:
        values = s.node("Expand", values, s.slice(s.shape(indices), [0], [1], [0]))
    return s.node("ScatterND", base, s.cast(indices, "int64"), values)


@form("dyn.image.resize2d", "dyn.nn.upsampling", "dyn.nn.upsampling3d")
@dataclass(frozen=True)
class Resize(Form):
    """`Resize`; other layouts than NCHW and NCDHW: `Transpose` around it"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        attrs, x = s.attrs, s.inputs[0]
        from ....ops.image.resample import Method

        rank = len(s.tensor(0).shape)
        canonical = "NCHW" if rank == 4 else "NCDHW"
        axes = spatial_axes(attrs.layout, canonical)
        order = [attrs.layout.index("N"), attrs.layout.index("C"), *axes]
        if attrs.name == "dyn.image.resize2d":
            method = Method(
                attrs.method,
                attrs.coordinate_transformation_mode,
                attrs.rounding_method,
                attrs.cubic_alpha,
                bool(attrs.cubic_exclude),
            )
        elif rank == 4:
            method = upsampling_method(attrs.method, attrs.align_corners)
        else:
            method = upsampling3d_method(attrs.method, attrs.coordinate_transformation_mode)
        if method.coordinates not in _COORDINATES:
            s.refuse(f"Resize has no mode {method.coordinates} of this meaning")
        moved = s.transpose(x, order)
        scales = sizes = None
        if attrs.name == "dyn.image.resize2d":
            sizes = s.concat([s.slice(s.shape(moved), [0], [2], [0]), s.cast(s.inputs[1], "int64")], 0)
        else:
            scale_inputs = [s.reshape(s.cast(v, "float32"), [1]) for v in s.inputs[1:]]
            scales = s.concat([s.constant([1, 1], "float32"), *scale_inputs], 0)
        nearest, cubic = method.name == "nearest_neighbor", method.name == "cubic"
        resized = s.node(
            "Resize",
            moved,
            None,
            scales,
            sizes,
            mode=_MODES[method.name],
            coordinate_transformation_mode=method.coordinates,
            nearest_mode=_ROUNDINGS[method.rounding_in_use] if nearest else None,
            cubic_coeff_a=float(method.alpha) if cubic else None,
            exclude_outside=int(method.exclude) if cubic else None,
        )
        return s.cast(s.transpose(resized, [order.index(a) for a in range(rank)]), s.out.dtype)
