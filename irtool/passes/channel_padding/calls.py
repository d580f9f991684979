"""What calls do with the channels of their operands.

Layers make channels of their own: convolutions of one group, and concatenations. Others keep those of their operands, one by one:
depthwise convolutions, pools, functions element by element.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ...ir import Call, Constant, Expr, Tuple
from ...ops.base import called_operator, is_call_to
from ...ops.dtypes import dtype_of
from ..constants import has_data, to_array
from ..extents import extents_of

FEW = 16
"""Of as many elements as this, one may be copied for the sake of added channels."""

CONVOLUTIONS: Mapping[str, tuple[str, str]] = {
    "nn.conv1d": ("NCW", "OIW"),
    "nn.conv2d": ("NCHW", "OIHW"),
    "nn.conv3d": ("NCDHW", "OIDHW"),
}
"""The layouts of data and weights of convolutions that may have channels added."""

_DTYPES = ("float32", "bfloat16", "float16")

_UNARY: Mapping[str, Callable[[float, Any], float]] = {
    **dict.fromkeys(("nn.relu", "abs", "negative", "cast", "copy"), lambda x, attrs: x),
    **dict.fromkeys(("sigmoid", "tanh", "fast_tanh", "erf", "fast_erf"), lambda x, attrs: 1.0),
    "clip": lambda x, attrs: max(x, abs(attrs.a_min), abs(attrs.a_max)),
    "nn.leaky_relu": lambda x, attrs: x * max(1.0, abs(attrs.alpha)),
}
"""Functions of numbers, and how large what they make of numbers up to x is."""

_BINARY: Mapping[str, Callable[[float, float], float]] = {
    **dict.fromkeys(("add", "subtract"), lambda x, y: x + y),
    **dict.fromkeys(("maximum", "minimum"), max),
    "multiply": lambda x, y: x * y,
}
"""The same of two numbers."""

_POOLS = frozenset(
    f"nn.{kind}_pool{n}d"
    for kind in ("max", "avg", "global_max", "global_avg", "adaptive_max", "adaptive_avg")
    for n in (1, 2, 3)
)

_LAYOUTS = frozenset(data for data, _ in CONVOLUTIONS.values())

_OVERSHOOT = 2.0
"""By how much resizing may make numbers larger: cubic functions go beyond them."""


def is_convolution(e: Expr) -> bool:
    """True for a convolution of one group with constant weights."""
    return isinstance(e, Call) and _is_plain(e) and e.attrs.groups == 1


def is_depthwise(e: Expr) -> bool:
    """True for a convolution of every channel by itself, with constant weights."""
    if not isinstance(e, Call) or not _is_plain(e) or e.attrs.groups == 1:
        return False
    shape = extents_of(e.args[1])
    return shape is not None and shape[:2] == (e.attrs.groups, 1)


def _is_plain(e: Call) -> bool:
    if not is_call_to(e, *CONVOLUTIONS) or extents_of(e) is None or not has_data(e.args[1]):
        return False
    if dtype_of(e) not in _DTYPES or dtype_of(e.args[1]) not in _DTYPES:
        return False
    layouts = (e.attrs.data_layout, e.attrs.kernel_layout)
    return layouts == CONVOLUTIONS[e.attrs.name] and e.attrs.out_layout in ("", layouts[0])


def fields_of(e: Expr) -> tuple[Expr, ...]:
    """What is put together along the axis of channels; nothing for another call."""
    shape = extents_of(e)
    if not isinstance(e, Call) or not is_call_to(e, "concatenate") or shape is None or len(shape) < 3:
        return ()
    return e.args[0].fields if isinstance(e.args[0], Tuple) and e.attrs.axis % len(shape) == 1 else ()


def kept_operands(e: Expr) -> tuple[Expr, ...]:
    """The operands whose channels a call keeps; nothing for one that does something else."""
    shape, operator = extents_of(e), called_operator(e)
    if not isinstance(e, Call) or shape is None or operator is None or len(shape) < 2:
        return ()
    name = operator.name
    if name in _BINARY:
        wide = tuple(x for x in e.args if not has_data(x) and extents_of(x) == shape)
        return wide if wide and all(x in wide or _can_be_spread(x, shape) for x in e.args) else ()
    if name == "nn.prelu":
        is_kept = e.attrs.axis % len(shape) == 1 and has_data(e.args[1])
    elif name in _POOLS:
        is_kept = e.attrs.layout in _LAYOUTS
    elif name in ("image.resize2d", "nn.upsampling"):
        is_kept = e.attrs.layout == "NCHW"
    else:
        is_kept = name in _UNARY or is_depthwise(e)
    return (e.args[0],) if is_kept else ()


def _can_be_spread(e: Expr, shape: tuple[int, ...]) -> bool:
    """True for a constant, and for a small tensor with one element for each channel, beside a result of that shape."""
    own = extents_of(e)
    if own is None or len(own) > len(shape):
        return False
    axis = len(own) - len(shape) + 1
    return has_data(e) or (axis >= 0 and own[axis] == shape[1] > 1 and math.prod(own) * FEW <= math.prod(shape))


def largest_added(e: Call, of: Mapping[Expr, float]) -> float:
    """The largest number in the added channels of a call that keeps those of its operands, `of` which the largest is known. Added
    channels of weights, biases and other tensors are zeros."""
    operator = called_operator(e)
    assert operator is not None
    x = max((of[a] for a in e.args if a in of), default=0.0)
    if operator.name in _UNARY:
        return _UNARY[operator.name](x, e.attrs)
    if operator.name in _BINARY:
        a, b = (of[a] if a in of else _largest(a) for a in e.args)
        return _BINARY[operator.name](a, b)
    if is_depthwise(e):
        return 0.0
    return x if operator.name == "nn.prelu" or operator.name in _POOLS else x * _OVERSHOOT


def _largest(e: Expr) -> float:
    """The largest number of a constant, as some may be for all channels; 0 of a tensor that has zeros added."""
    return float(abs(to_array(e)).max(initial=0.0)) if isinstance(e, Constant) and has_data(e) else 0.0
