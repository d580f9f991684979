"""Calls in the blocked layouts that a processor's kernels are written for."""

from __future__ import annotations

import dataclasses

from ...ir import Call, TensorType
from ...ir.target import Target
from ...ops.base import call

_LANES = {
    16: "skylake-avx512 skx cascadelake cannonlake icelake-client icelake-server tigerlake cooperlake sapphirerapids "
    "rocketlake knl x86-64-v4 znver4",
    8: "haswell core-avx2 broadwell skylake znver1 znver2 znver3 alderlake x86-64-v3 sandybridge ivybridge core-avx-i "
    "corei7-avx bdver1 bdver2 bdver3 bdver4",
}


def vector_lanes(target: Target) -> int:
    """How many float32 a vector register of the target holds: 16, 8, or 4 where nothing is known."""
    if target.option("lanes"):
        return int(target.option("lanes"))
    cpu = target.option("mcpu")
    return next((lanes for lanes, names in _LANES.items() if cpu in names.split()), 4)


def _block(extent: int, most: int) -> int:
    return next(b for b in range(most, 0, -1) if extent % b == 0)


def blocked(new: Call, old: Call, lanes: int) -> Call | None:
    """A convolution in `NCHW[x]c`, where x is at most the number of lanes; None for anything else."""
    at = old.attrs
    if at.name != "nn.conv2d" or at.data_layout != "NCHW" or at.kernel_layout != "OIHW":
        return None
    data, weight = old.args[0].checked_type, old.args[1].checked_type
    if not isinstance(data, TensorType) or not isinstance(weight, TensorType):
        return None
    if not data.is_static or not weight.is_static or not data.dtype.startswith("float"):
        return None
    channels, (filters, depth, *_) = data.static_shape[1], weight.static_shape
    out_block = _block(filters, lanes)
    attributes = {f.name: getattr(new.attrs, f.name) for f in dataclasses.fields(new.attrs)}
    if at.groups == 1:
        in_block = _block(channels, out_block)
        layouts = (f"NCHW{in_block}c", f"OIHW{in_block}i{out_block}o", f"NCHW{out_block}c")
        op = "nn.contrib_conv2d_NCHWc"
    elif at.groups == channels and depth == 1 and filters == channels:
        layouts = (f"NCHW{out_block}c", f"OIHW1i{out_block}o", f"NCHW{out_block}c")
        op = "nn.contrib_depthwise_conv2d_NCHWc"
    else:
        return None
    attributes |= {"channels": filters, "kernel_size": weight.static_shape[2:]}
    attributes |= dict(zip(("data_layout", "kernel_layout", "out_layout"), layouts, strict=True))
    return call(op, *new.args, **attributes)
