"""Convolutions and their transposes, in the layout that ONNX has: other layouts are rearranged around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from ....ir import Expr, TensorType
from ....ops.base import call
from ....passes.core.constants import scalar_constant
from ....passes.legalization.rule import LegalizationSite
from ..dtypes import is_float
from ..form import Expansion, form
from ..graph import Value
from ..site import OnnxSite

PLAIN = {1: ("NCW", "OIW"), 2: ("NCHW", "OIHW"), 3: ("NCDHW", "OIDHW")}
"""Layouts of data and weights by the number of spatial axes."""


def spatial_rank(layout: str) -> int:
    """The number of spatial axes of a layout of data."""
    return sum(a.isupper() for a in layout) - 2


def relayout(e: Expr, source: str, target: str) -> Expr:
    """The expression in another layout."""
    return e if source == target else call("layout_transform", e, src_layout=source, dst_layout=target)


def attributes(attrs: Any, **changes: Any) -> dict[str, Any]:
    """The attributes of a call, some of them changed."""
    return {**{f.name: getattr(attrs, f.name) for f in fields(attrs)}, **changes}


def in_plain_layout(s: LegalizationSite, kernel: str, name: str = "") -> Expr | None:
    """A convolution between rearrangements, or None if its layouts are plain. `kernel` is the plain layout of weights."""
    attrs = s.attrs
    data = PLAIN[spatial_rank(attrs.data_layout)][0]
    out = attrs.out_layout or attrs.data_layout
    if attrs.data_layout == data and attrs.kernel_layout == kernel and out == data and not name:
        return None
    x, w, *rest = s.args
    depth = attrs.kernel_layout
    convolution = call(
        name or attrs.name,
        relayout(x, attrs.data_layout, data),
        relayout(w, depth, kernel),
        *rest,
        span=s.call.span,
        **attributes(attrs, data_layout=data, kernel_layout=kernel, out_layout=""),
    )
    return relayout(convolution, data, out)


def pads_of(padding: Sequence[int], rank: int) -> list[int]:
    """Begins, then ends, as in ONNX, from one number, one for each axis, or both."""
    padding = [int(p) for p in padding]
    if len(padding) == 1:
        return padding * (2 * rank)
    return padding * 2 if len(padding) == rank else padding


def spread(values: Sequence[int], rank: int) -> list[int]:
    """One number for each axis."""
    values = [int(v) for v in values]
    return values * rank if len(values) == 1 else values


@form("nn.conv1d", "nn.conv2d", "nn.conv3d")
@dataclass(frozen=True)
class Conv(Expansion):
    """`Conv`; `ConvInteger` of 8-bit integers, a sum of `MatMul` for each tap of other integers; other layouts: `Transpose` around it"""

    direct: ClassVar[bool] = True

    def expand(self, s: LegalizationSite) -> Expr | None:
        return in_plain_layout(s, PLAIN[spatial_rank(s.attrs.data_layout)][1])

    def emit(self, s: OnnxSite) -> Any:
        x, w = s.inputs
        attrs, rank = s.attrs, len(s.tensor(0).shape) - 2
        channels, window = s.known(s.out, 1), s.spatial(s.tensor(1))
        if s.known(s.tensor(1), 0) != channels:  # several filters for each channel of the data
            w = s.reshape(w, [channels, s.known(s.tensor(0), 1) // int(attrs.groups), *window])
        shared: dict[str, Any] = {
            "kernel_shape": window,
            "strides": spread(attrs.strides, rank),
            "dilations": spread(attrs.dilation, rank),
            "pads": pads_of(attrs.padding, rank),
            "group": int(attrs.groups),
        }
        if is_float(s.out.dtype):
            result = s.node("Conv", s.cast(x, s.out.dtype), s.cast(w, s.out.dtype), **shared)
            return result
        if x.dtype in ("int8", "uint8") and w.dtype in ("int8", "uint8") and s.out.dtype in ("int32", "int64"):
            return s.cast(convolved_integers(s, x, w, None, None, shared), s.out.dtype)
        return _by_taps(s, x, w, shared)


def convolved_integers(
    s: OnnxSite, x: Value, w: Value, x_zero: Value | None, w_zero: Value | None, shared: Any
) -> Value:
    """`ConvInteger`: exact sums of 8-bit products. ONNX Runtime has it for unsigned data, which is 128 more."""
    if x.dtype == "int8":
        x = s.cast(s.add(s.cast(x, "int32"), s.constant(128, "int32")), "uint8")
        moved = s.constant(128, "int32") if x_zero is None else s.add(s.cast(x_zero, "int32"), s.constant(128, "int32"))
        x_zero = s.cast(moved, "uint8")
    return s.node("ConvInteger", x, w, x_zero, w_zero, dtype="int32", **shared)


def _by_taps(s: OnnxSite, x: Value, w: Value, shared: dict[str, Any]) -> Value:
    """The sum over the taps of products of shifted data with the weights of the tap."""
    import itertools

    rank, groups = len(shared["strides"]), shared["group"]
    wide = "int64" if s.out.dtype in ("int64", "uint64") else "int32"
    x, w = s.cast(x, wide), s.cast(w, wide)
    batch, _, *size = s.dims(0)
    units, depth, taps = s.static(s.out)[1], s.dims(0)[1] // groups, s.dims(1)[2:]
    pads = shared["pads"]
    x = s.node("Pad", x, s.ints(0, 0, *pads[:rank], 0, 0, *pads[rank:]))
    positions = [int(d) for d in s.static(s.out)[2:]]
    x = s.reshape(
        x, [batch, groups, depth, *(n + a + b for n, a, b in zip(size, pads[:rank], pads[rank:], strict=True))]
    )
    w = s.reshape(w, [groups, units // groups, depth, *taps])
    total = None
    axes = list(range(3, 3 + rank))
    for tap in itertools.product(*map(range, taps)):
        first = [t * d for t, d in zip(tap, shared["dilations"], strict=True)]
        ends = [f + (p - 1) * v + 1 for f, p, v in zip(first, positions, shared["strides"], strict=True)]
        part = s.slice(x, first, ends, axes, shared["strides"])
        flat = s.reshape(part, [batch, groups, depth, -1])
        weights = s.squeeze(s.slice(w, tap, [t + 1 for t in tap], axes), *axes)
        term = s.node("MatMul", weights, flat)
        total = term if total is None else s.add(total, term)
    assert total is not None
    return s.cast(s.reshape(total, [batch, units, *positions]), s.out.dtype)


@form("nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose")
@dataclass(frozen=True)
class ConvTranspose(Expansion):
    """`ConvTranspose`; of integers a convolution of the data with gaps; other layouts: `Transpose` around it"""

    direct: ClassVar[bool] = True

    def expand(self, s: LegalizationSite) -> Expr | None:
        attrs = s.attrs
        rank = spatial_rank(attrs.data_layout)
        data = PLAIN[rank][0]
        letters, plain = (
            attrs.kernel_layout,
            attrs.kernel_form,
        )  # the channels that come in are the first axis of the latter
        out = attrs.out_layout or attrs.data_layout
        if attrs.data_layout == data and letters == plain and out == data:
            dtype = attrs.out_dtype or s.tensor(0).dtype
            return None if is_float(dtype) else _as_convolution(s, rank, dtype)
        x, w = s.args
        convolution = call(
            attrs.name,
            relayout(x, attrs.data_layout, data),
            relayout(w, letters, plain),
            span=s.call.span,
            **attributes(attrs, data_layout=data, kernel_layout=plain, out_layout=""),
        )
        return relayout(convolution, data, out)

    def emit(self, s: OnnxSite) -> Any:
        x, w = s.inputs
        attrs, rank = s.attrs, len(s.tensor(0).shape) - 2
        if not is_float(s.out.dtype):
            s.refuse(f"ONNX has ConvTranspose for floating point, not for {s.out.dtype}")
        return s.node(
            "ConvTranspose",
            s.cast(x, s.out.dtype),
            s.cast(w, s.out.dtype),
            kernel_shape=s.spatial(s.tensor(1)),
            strides=spread(attrs.strides, rank),
            dilations=spread(attrs.dilation, rank),
            pads=pads_of(attrs.padding, rank),
            output_padding=spread(attrs.output_padding, rank),
            group=int(attrs.groups),
        )


def _as_convolution(s: LegalizationSite, rank: int, dtype: str) -> Expr:
    """A transposed convolution as one of the data with gaps, with the weights turned round."""
    attrs = s.attrs
    x, w = s.args
    inputs, outputs, *kernel = s.shape(1)
    strides, dilation = spread(attrs.strides, rank), spread(attrs.dilation, rank)
    pads, more = pads_of(attrs.padding, rank), spread(attrs.output_padding, rank)
    x = call("nn.dilate", call("cast", x, dtype=dtype), strides=(1, 1, *strides))
    reach = [(k - 1) * d for k, d in zip(kernel, dilation, strict=True)]
    before = [r - p for r, p in zip(reach, pads[:rank], strict=True)]
    after = [r - p + m for r, p, m in zip(reach, pads[rank:], more, strict=True)]
    widths = ((0, 0), (0, 0), *zip((max(b, 0) for b in before), (max(a, 0) for a in after), strict=True))
    x = call("nn.pad", x, scalar_constant(0, dtype), pad_width=widths)
    if min(*before, *after) < 0:
        sizes = [(n - 1) * v + 1 for n, v in zip(s.shape(0)[2:], strides, strict=True)]
        starts = [max(-b, 0) for b in before]
        ends = [n + max(b, 0) + min(a, 0) + max(a, 0) for n, a, b in zip(sizes, after, before, strict=True)]
        x = call("strided_slice", x, begin=starts, end=ends, strides=[1] * rank, axes=list(range(2, 2 + rank)))
    w = call("cast", w, dtype=dtype)
    for axis in range(2, 2 + rank):
        w = call("reverse", w, axis=axis)
    groups = int(attrs.groups)
    w = call("reshape", w, newshape=(groups, inputs // groups, outputs, *kernel))
    w = call("transpose", w, axes=(0, 2, 1, *range(3, 3 + rank)))
    w = call("reshape", w, newshape=(groups * outputs, inputs // groups, *kernel))
    data, weights = PLAIN[rank]
    return call(
        f"nn.conv{rank}d",
        x,
        w,
        strides=[1] * rank,
        padding=[0] * rank,
        dilation=dilation,
        groups=groups,
        channels=groups * outputs,
        kernel_size=kernel,
        data_layout=data,
        kernel_layout=weights,
        out_dtype=dtype,
        span=s.call.span,
    )


@form("nn.contrib_conv2d_NCHWc", "nn.contrib_depthwise_conv2d_NCHWc")
@dataclass(frozen=True)
class BlockedConv(Expansion):
    """`nn.conv2d` on plain layouts, `Reshape` and `Transpose` around it"""

    def expand(self, s: LegalizationSite) -> Expr | None:
        attrs = s.attrs
        kernel = attrs.kernel_layout
        weight = s.types[1]
        assert isinstance(weight, TensorType)
        return in_plain_layout(s, "OIHW", "nn.conv2d") if kernel else None
