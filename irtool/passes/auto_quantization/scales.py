"""The scales of simulated rounding: those of constants from their values, those of data from one number or from samples."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...deferred import np
from ...diagnostics import IrError
from ...ir import Constant, Expr, Function, Var, post_order, substitute, with_function
from ...ops.base import is_call_to
from ..core.constants import has_data, scalar_constant
from .annotation import ACTIVATION, INPUT, SIMULATED, WEIGHT

MODES = ("global_scale", "kl_divergence", "percentile")


def rounded_data(function: Function) -> list[Expr]:
    """The data that are rounded, constants aside, in order: those whose scales samples give."""
    return [e.args[0] for e in post_order(function) if is_call_to(e, SIMULATED) and e.attrs.kind != WEIGHT]


def with_scales(
    function: Function, bits: dict[int, int], weight_scale: str, data_scales: Sequence[float] | float
) -> Function:
    """The function with scales and limits of all rounding as constants.

    Args:
        bits: how many bits values of a kind have.
        weight_scale: `power2` or `max`: the largest magnitude, or the next power of two.
        data_scales: the greatest value of each of `rounded_data`, or of all.

    Raises IrError for weights that are no constants, and for too few or too many scales.
    """
    values: dict[Var, Expr] = {}
    scales = None if isinstance(data_scales, float | int) else list(data_scales)
    for e in post_order(function):
        if not is_call_to(e, SIMULATED):
            continue
        kind = e.attrs.kind
        if kind not in bits:
            raise IrError(f"QuantizeCalibrate: there are no bits for the kind {kind}", e.span)
        if kind == WEIGHT:
            scale = _weight_scale(e.args[0], weight_scale)
        elif scales is None:
            assert isinstance(data_scales, float | int)
            scale = float(data_scales)
        elif scales:
            scale = float(scales.pop(0))
        else:
            raise IrError("QuantizeCalibrate: there are fewer scales than rounded tensors", e.span)
        levels = 2.0 ** (bits[kind] - e.attrs.sign)
        for var, value in zip(e.args[1:], (scale / levels, 1 - levels, levels - 1)):
            if isinstance(var, Var):
                values[var] = scalar_constant(value, "float32")
    if scales:
        raise IrError("QuantizeCalibrate: there are more scales than rounded tensors")
    if not values:
        return function
    params = tuple(p for p in function.params if p not in values)
    return with_function(function, params=params, body=substitute(function.body, values))


def _weight_scale(e: Expr, how: str) -> float:
    if not isinstance(e, Constant) or not has_data(e):
        raise IrError("QuantizeCalibrate: weights must be constants", e.span)
    largest = float(np.abs(np.asarray(e.data)).max(initial=0))
    if not math.isfinite(largest):
        raise IrError("QuantizeCalibrate: the weights are not finite", e.span)
    if how == "power2":
        return 2.0 ** math.ceil(math.log(largest, 2)) if largest > 0 else 1.0
    return largest


KINDS = {INPUT: "nbit_input", WEIGHT: "nbit_weight", ACTIVATION: "nbit_activation"}
"""The options that say how many bits a kind has."""
