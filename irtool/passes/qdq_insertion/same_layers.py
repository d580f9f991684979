"""Layers in the forms that have integers: products of `nn.matmul` as dense layers, convolutions along one axis as those along two."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import Call, Expr, TensorType
from ...ops.base import attributes_of, call

ALONG_ONE = {"nn.conv1d": "nn.conv2d", "nn.conv1d_transpose": "nn.conv2d_transpose"}
"""Convolutions along one axis, each with the one along two."""


def as_dense(old: Call, new: Call) -> Call:
    """`nn.matmul(%x, %w)` as `nn.dense(%x, transpose(%w))`; operands that are stored transposed are not transposed, or are.

    `old` has the types of `new`.
    """
    x, w = new.args
    if new.attrs.transpose_a:
        x = call("transpose", x, axes=_swapped(len(static_shape(old.args[0]))))
    if not new.attrs.transpose_b:
        w = call("transpose", w, axes=(1, 0))
    return call("nn.dense", x, w, span=new.span, units=static_shape(old)[-1], out_dtype=new.attrs.out_dtype)


def along_two(new: Call) -> tuple[Call, int] | None:
    """A convolution along one axis as one of images of one line, and the axis to drop from its result; None in a layout in blocks.

    ::

        nn.conv1d(%x, %w)  ⇒  squeeze(nn.conv2d(expand_dims(%x, axis=2), expand_dims(%w, axis=2)), axis=[2])
    """
    attrs = attributes_of(new.attrs)
    data, kernel = attrs["data_layout"], attrs["kernel_layout"]
    out = attrs.get("out_layout") or data
    if {*data} != {*"NCW"} or {*kernel} != {*"OIW"} or {*out} != {*"NCW"}:
        return None
    width_axes = [layout.index("W") for layout in (data, kernel, out)]
    if new.op_name == "nn.conv1d_transpose":  # there, O are the channels that come in
        kernel = kernel.translate(str.maketrans("OI", "IO"))
    for name, layout in (("data_layout", data), ("kernel_layout", kernel), ("out_layout", attrs.get("out_layout"))):
        if layout:
            attrs[name] = layout.replace("W", "HW")
    for name, neutral in (("strides", 1), ("dilation", 1), ("output_padding", 0)):
        if name in attrs:
            attrs[name] = [neutral, *_listed(attrs[name])]
    if attrs.get("kernel_size") is not None:
        attrs["kernel_size"] = [1, *_listed(attrs["kernel_size"])]
    sides = _listed(attrs["padding"])
    attrs["padding"] = [0, sides[0], 0, sides[-1]]
    x, w = (call("expand_dims", a, axis=n) for a, n in zip(new.args, width_axes, strict=False))
    return call(ALONG_ONE[new.op_name], x, w, span=new.span, **attrs), width_axes[2]


def _listed(value: int | Sequence[int]) -> list[int]:
    return [value] if isinstance(value, int) else list(value)


def _swapped(rank: int) -> tuple[int, ...]:
    return (*range(rank - 2), rank - 1, rank - 2)


def static_shape(e: Expr) -> tuple[int, ...]:
    """The shape of a tensor of which all extents are known; empty for everything else."""
    t = e.known_type
    return t.static_shape if isinstance(t, TensorType) and t.is_static else ()
