"""Layers in supported forms: transposed convolutions in NCHW, gradients of weights as convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import Expr, TensorType
from ...ops.base import attributes_of, call
from ...ops.nn.geometry import pad_amounts
from ..core.reshaping import reshape_to
from .rule import LEGALIZE, LegalizationSite, legalization


def _permute(e: Expr, axes: Sequence[int]) -> Expr:
    return call("transpose", e, axes=tuple(axes))


def _reorder(e: Expr, now: str, target: str) -> Expr:
    """A tensor with its axes in another order; `e` itself if they stand so."""
    return e if now == target else _permute(e, [now.index(a) for a in target])


@legalization(LEGALIZE, "nn.conv2d_transpose")
def conv2d_transpose(s: LegalizationSite) -> Expr | None:
    """NHWC data is brought to NCHW and back; kernels to IOHW."""
    data, kernel = s.args
    attrs = s.attrs
    if attrs.data_layout not in ("NCHW", "NHWC") or len(attrs.kernel_layout) != 4:
        return None
    kernel = _reorder(kernel, attrs.kernel_layout, "IOHW")
    attributes = attributes_of(attrs, data_layout="NCHW", kernel_layout="IOHW")
    if attrs.data_layout == "NCHW":
        return call("nn.conv2d_transpose", data, kernel, **attributes)
    out = call("nn.conv2d_transpose", _permute(data, (0, 3, 1, 2)), kernel, **attributes)
    return out if attrs.out_layout else _permute(out, (0, 2, 3, 1))  # else it is in that layout already


_CONV3D_KERNELS = {"DHWIO": (4, 3, 0, 1, 2), "DHWOI": (3, 4, 0, 1, 2), "IODHW": (1, 0, 2, 3, 4), "OIDHW": None}
"""The permutation of a kernel into TVM's OIDHW of this operator, whose first axis is that of the inputs."""


@legalization(LEGALIZE, "nn.conv3d_transpose")
def conv3d_transpose(s: LegalizationSite) -> Expr | None:
    """NDHWC data is brought to NCDHW and back."""
    data, kernel = s.args
    attrs = s.attrs
    if attrs.data_layout != "NDHWC" or attrs.kernel_layout not in _CONV3D_KERNELS:
        return None
    axes = _CONV3D_KERNELS[attrs.kernel_layout]
    kernel = kernel if axes is None else _permute(kernel, axes)
    attributes = attributes_of(attrs, data_layout="NCDHW", kernel_layout="OIDHW")
    out = call("nn.conv3d_transpose", _permute(data, (0, 4, 1, 2, 3)), kernel, **attributes)
    return out if attrs.out_layout else _permute(out, (0, 2, 3, 4, 1))


@legalization(LEGALIZE, "take")
def take(s: LegalizationSite) -> Expr | None:
    """Data of dynamic shape is computed before it is taken from: nothing is fused into the look-up."""
    t = s.types[0]
    if not isinstance(t, TensorType) or t.is_static:
        return None
    return call("take", call("annotation.stop_fusion", s.args[0]), s.args[1], **attributes_of(s.attrs))


@legalization(LEGALIZE, "nn.conv2d_backward_weight")
def conv2d_backward_weight(s: LegalizationSite) -> Expr | None:
    """A convolution of the data by the gradient, one group for each channel and image, summed over images (NCHW, OIHW)."""
    grad, data = s.args
    attrs = s.attrs
    (batch, channels, *size), (_, filters, *steps) = s.shape(1), s.shape(0)
    t = s.type
    assert isinstance(t, TensorType)
    if s.native or (attrs.data_layout, attrs.kernel_layout, attrs.out_layout) != ("NCHW", "NCHW", "OIHW"):
        return None
    if 0 in (*s.shape(0), *s.shape(1)):
        return None  # its tensor expression knows every layout
    if attrs.groups not in (1, channels):
        return None  # the repeated filters would meet the channels of other groups, as they do in TVM
    kernel = list(t.static_shape[2:])
    per_group = channels // attrs.groups
    (top, bottom), (left, right) = pad_amounts(attrs.padding, 2)
    tiled = call("tile", grad, reps=[1, per_group, 1, 1])
    flat = call("reshape", tiled, newshape=[-1, 1, 0, 0])
    out: Expr = call(
        "nn.conv2d",
        call("reshape", data, newshape=[1, -1, 0, 0]),
        flat,
        strides=attrs.dilation,
        padding=(top, left, bottom, right),
        dilation=attrs.strides,
        groups=channels * batch,
        out_dtype=attrs.out_dtype if s.tensor(0).dtype == s.tensor(1).dtype else t.dtype,
    )
    around = (top + bottom, left + right)
    reached = [
        (n - (g - 1) * stride - 1 + p) // dilation + 1
        for n, g, stride, p, dilation in zip(size, steps, attrs.strides, around, attrs.dilation, strict=True)
    ]
    out = reshape_to(out, (batch, per_group, filters, *reached))
    out = call("sum", out, axis=[0], keepdims=False, exclude=False)
    out = _permute(out, (1, 0, 2, 3))
    if reached != kernel:
        end = (filters, per_group, *kernel)
        out = call("strided_slice", out, begin=(0, 0, 0, 0), end=end, strides=(1,), slice_mode="end", axes=None)
    return out


@legalization(LEGALIZE, "erf")
def erf(s: LegalizationSite) -> Expr | None:
    """Computes erf of types narrower than float32 in float32; float64 keeps its precision."""
    t = s.tensor(0)
    if t.dtype in ("float32", "float64"):
        return None
    return call("cast", call("erf", call("cast", s.args[0], dtype="float32")), dtype=t.dtype)
