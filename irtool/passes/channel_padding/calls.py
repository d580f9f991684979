"""Channels of calls and their operands.

Layers make channels of their own: convolutions of one group, concatenations, and zeros that are added by the network itself. Others keep
those of their operands, one by one: depthwise convolutions, and operators with a rule for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ...ir import Call, Constant, Expr, Tuple
from ...ops.base import called_operator, is_call_to
from ...ops.dtypes import dtype_of
from ...symbolic_int import is_known
from ..core.constants import has_data, single_value, to_array
from ..core.extents import extents_of, is_smaller, known_extents
from .rule import KEEPING, LAYERS

_FEW = 16
"""Of as many elements as this, one may be copied for the sake of added channels."""

_DTYPES = ("float32", "bfloat16", "float16")


def is_layer(e: Expr) -> bool:
    """True for a convolution of one group with constant weights."""
    return isinstance(e, Call) and _is_plain(e) and e.attrs.groups == 1


def is_depthwise(e: Expr) -> bool:
    """True for a convolution of every channel by itself, with constant weights."""
    if not isinstance(e, Call) or not _is_plain(e) or e.attrs.groups == 1:
        return False
    shape = extents_of(e.args[1])
    return shape is not None and shape[:2] == (e.attrs.groups, 1)


def _is_plain(e: Call) -> bool:
    operator = called_operator(e)
    rule = LAYERS.find(operator.name) if operator is not None else None
    if rule is None or extents_of(e) is None or not has_data(e.args[1]):
        return False
    return dtype_of(e) in _DTYPES and dtype_of(e.args[1]) in _DTYPES and rule(e)


def adds_channels(e: Expr) -> bool:
    """True for a call that adds channels of zeros behind those of its operand."""
    if not isinstance(e, Call) or not is_call_to(e, "nn.pad") or extents_of(e) is None or dtype_of(e) not in _DTYPES:
        return False
    widths = [tuple(w) for w in e.attrs.pad_width]
    return (
        len(widths) > 2
        and e.attrs.pad_mode == "constant"
        and single_value(e.args[1]) == 0
        and all(w == (0, 0) or (n == 1 and w[0] == 0 and is_known(w[1])) for n, w in enumerate(widths))
    )


def fields_of(e: Expr) -> tuple[Expr, ...]:
    """The operands of a concatenation along the axis of channels; nothing for another call."""
    shape = extents_of(e)
    if not isinstance(e, Call) or not is_call_to(e, "concatenate") or shape is None or len(shape) < 3:
        return ()
    return e.args[0].fields if isinstance(e.args[0], Tuple) and e.attrs.axis % len(shape) == 1 else ()


def largest_added(e: Call, of: Mapping[Expr, float]) -> float:
    """The largest number in the added channels of a call that keeps those of its operands, `of` which the largest is known; infinite if
    it does not keep them."""
    operator, shape = called_operator(e), extents_of(e)
    if operator is None or shape is None or not any(x in of for x in e.args):
        return math.inf
    if is_depthwise(e):
        return 0.0
    rule = KEEPING.find(operator.name)
    if rule is None or not all(x in of or _can_be_spread(e, x) for x in e.args):
        return math.inf
    largest = rule(e, [of[x] if x in of else _largest_beside(e, x) for x in e.args])
    return math.inf if largest is None else largest


def channel_axis(e: Call, operand: Expr) -> int | None:
    """The axis of an operand, beside those with the channels of a call, along which it has an element for each channel; None if it has
    one for all."""
    own, shape = known_extents(operand), known_extents(e)
    if len(own) == 1 and isinstance(getattr(e.attrs, "axis", None), int):  # of a bias or slope, the attribute says it
        return 0 if e.attrs.axis % len(shape) == 1 else None
    axis = len(own) - len(shape) + 1
    return axis if axis >= 0 and own[axis] == shape[1] != 1 else None


def _can_be_spread(e: Call, operand: Expr) -> bool:
    """True for a constant, and for a small tensor with one element for each channel."""
    own, shape = extents_of(operand), extents_of(e)
    if own is None or shape is None or len(own) > len(shape):
        return False
    return has_data(operand) or (not is_smaller(shape, own, _FEW) and channel_axis(e, operand) is not None)


def _largest_beside(e: Call, operand: Expr) -> float:
    """The largest number of an operand in added channels: 0 where it has an element for each."""
    if channel_axis(e, operand) is not None or not isinstance(operand, Constant):
        return 0.0
    return float(abs(to_array(operand)).max(initial=0.0))
