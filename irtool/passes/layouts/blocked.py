"""Convolutions in the blocked layouts that a processor's kernels are written for.

The sizes of blocks are those that TVM 0.10 falls back to without tuning (`topi/x86/conv2d_avx_common.py`,
`topi/generic/conv2d.py`).
"""

from __future__ import annotations

from ...ir import Call, TensorType
from ...ir.target import Target
from ...ops.base import attributes_of, call
from ..core.x86_processors import has_sse42, vector_lanes
from .alteration import alteration, has_libraries, largest_block

_SUMMED = 4
"""Products of bytes that an instruction sums up."""
_SUMS = 16
"""Sums that the kernel of bytes computes at once, for any vector length."""


@alteration("nn.conv2d")
def blocked(old: Call, new: Call, target: Target) -> Call | None:
    """A convolution in `NCHW[x]c`; None unless it is in NCHW, and has one group or a kernel for each channel."""
    attrs = old.attrs
    if attrs.data_layout != "NCHW" or attrs.kernel_layout != "OIHW":
        return None
    data, weight = old.args[0].checked_type, old.args[1].checked_type
    if not isinstance(data, TensorType) or not isinstance(weight, TensorType) or not weight.is_static:
        return None
    channels, (filters, depth, *taps) = data.shape[1], weight.static_shape
    if not isinstance(channels, int) or 0 in (channels, filters):
        return None
    op = "nn.contrib_conv2d_NCHWc"
    if attrs.groups != 1:
        if not attrs.groups == channels == filters or depth != 1 or any(d != 1 for d in attrs.dilation):
            return None
        op = "nn.contrib_depthwise_conv2d_NCHWc"
        block = largest_block(filters, vector_lanes(target))
        layouts = (f"NCHW{block}c", f"OIHW1i{block}o", f"NCHW{block}c")
    elif (data.dtype, weight.dtype) == ("uint8", "int8") and has_sse42(target.option("mcpu")):
        if filters % _SUMS or channels % _SUMMED:
            return None
        block = next(b for b in range(_SUMS, 0, -_SUMMED) if channels % b == 0)
        layouts = (f"NCHW{block}c", f"OIHW{block // _SUMMED}i{_SUMS}o{_SUMMED}i", f"NCHW{_SUMS}c")
    elif has_libraries(target, "dnnl"):
        return None
    else:
        out_block = largest_block(filters, vector_lanes(target))
        in_block = largest_block(channels, out_block)
        layouts = (f"NCHW{in_block}c", f"OIHW{in_block}i{out_block}o", f"NCHW{out_block}c")
    names = dict(zip(("data_layout", "kernel_layout", "out_layout"), layouts, strict=True))
    return call(op, *new.args, **attributes_of(new.attrs, channels=filters, kernel_size=tuple(taps), **names))
