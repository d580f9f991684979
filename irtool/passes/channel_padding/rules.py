"""Values of added channels, by operator. They must stay finite, since a weight of zero makes zero of finite numbers only."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...ir import Call
from ...ops.base import called_operator
from ...ops.nn.conv import Convolution
from .rule import keeps_channels, makes_channels

_OVERSHOOT = 2.0
"""By how much resizing may make numbers larger: cubic functions go beyond them."""


@makes_channels("nn.conv1d", "nn.conv2d", "nn.conv3d")
def convolution(call: Call) -> bool:
    """Rows of images behind the channels, and windows behind those of the weights."""
    operator = called_operator(call)
    assert operator is not None and issubclass(operator, Convolution)
    layouts = (operator.data_form, operator.kernel_form)
    return (call.attrs.data_layout, call.attrs.kernel_layout) == layouts and call.attrs.out_layout in ("", layouts[0])


@keeps_channels("nn.relu", "abs", "negative", "cast", "copy")
def as_large(call: Call, added: Sequence[float]) -> float:
    """Numbers no larger than before."""
    return added[0]


@keeps_channels("sigmoid", "tanh", "fast_tanh", "erf", "fast_erf")
def at_most_one(call: Call, added: Sequence[float]) -> float:
    """Numbers from -1 to 1."""
    return 1.0


@keeps_channels("clip")
def between(call: Call, added: Sequence[float]) -> float:
    """Numbers between two limits."""
    return max(added[0], abs(call.attrs.a_min), abs(call.attrs.a_max))


@keeps_channels("nn.leaky_relu")
def leaking(call: Call, added: Sequence[float]) -> float:
    """Numbers below 0 scaled."""
    return added[0] * max(1.0, abs(call.attrs.alpha))


@keeps_channels("nn.prelu", "multiply")
def product(call: Call, added: Sequence[float]) -> float:
    """Numbers, or their products."""
    return max(added[0], math.prod(added))


@keeps_channels("add", "subtract", "nn.bias_add")
def total(call: Call, added: Sequence[float]) -> float:
    """Sums."""
    return sum(added)


@keeps_channels("maximum", "minimum")
def either(call: Call, added: Sequence[float]) -> float:
    """One of two numbers."""
    return max(added)


@keeps_channels(
    "nn.max_pool1d",
    "nn.max_pool2d",
    "nn.max_pool3d",
    "nn.avg_pool1d",
    "nn.avg_pool2d",
    "nn.avg_pool3d",
    "nn.global_max_pool2d",
    "nn.global_avg_pool2d",
    "nn.adaptive_max_pool1d",
    "nn.adaptive_max_pool2d",
    "nn.adaptive_max_pool3d",
    "nn.adaptive_avg_pool1d",
    "nn.adaptive_avg_pool2d",
    "nn.adaptive_avg_pool3d",
)
def pooled(call: Call, added: Sequence[float]) -> float | None:
    """Means and extremes of windows."""
    return added[0] if call.attrs.layout in ("NCW", "NCHW", "NCDHW") else None


@keeps_channels("image.resize2d", "nn.upsampling")
def resized(call: Call, added: Sequence[float]) -> float | None:
    """Interpolation stays within the range of its elements, up to an overshoot."""
    return added[0] * _OVERSHOOT if call.attrs.layout == "NCHW" else None
