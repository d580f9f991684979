"""Weights in 8 bits: a scale for each output channel, and the proof that sums of products fit into 32 bits."""

from __future__ import annotations

from dataclasses import dataclass

from ...deferred import np
from ...diagnostics import IrError
from ...ir import Constant
from ...ops.qnn.fixed_point import INT32_HIGH
from ..core.mistakes import AccumulatorOverflow
from .quantities import LEAST_SCALE

LARGEST = 127
"""Weights are -127 to 127: symmetric, so that the zero point is 0."""


@dataclass(frozen=True)
class QuantizedWeights:
    """Integers and their scales.

    Attributes:
        values: int8, of the shape of the weights.
        scales: float32, one for each output channel, or one for all (rank 0).
        axis: that of the channels; -1 if there is one scale.
    """

    values: np.ndarray
    scales: np.ndarray
    axis: int


def quantize_weights(
    weights: Constant, axis: int, bias: Constant | None, data_scale: float, data_low: int, data_high: int, layer: str
) -> QuantizedWeights:
    """Symmetric weights in int8; the scale of a channel is its largest magnitude / 127.

    A channel of zeros has scale 1. A scale is made larger where the bias, which is an integer in units of the product of both
    scales, would otherwise take more of 32 bits than products leave it.

    Args:
        data_scale: that of the data; `data_low`, `data_high`: the least and greatest number of them minus the zero point.
        layer: the name for messages.

    Raises IrError, naming the layer, for weights that are not finite, and where sums of products may overflow int32.
    """
    w = np.asarray(weights.data, np.float64)
    if not np.isfinite(w).all():
        raise IrError(f"the weights of {layer} have {_worst(w)}: they cannot be quantized", weights.span)
    rows = np.moveaxis(w, axis, 0).reshape(w.shape[axis], -1) if axis >= 0 else w.reshape(1, -1)
    peak = np.abs(rows).max(axis=1, initial=0)
    scales = np.maximum(np.where(peak == 0, 1.0, peak / LARGEST), LEAST_SCALE)
    integers = np.rint(rows / scales[:, None])
    headroom = INT32_HIGH - largest_sums(integers, data_low, data_high)
    if (headroom < 0).any():
        channel = int(np.argmin(headroom))
        where = f" of channel {channel}" if axis >= 0 else ""
        raise IrError(
            f"{layer}: sums of {rows.shape[1]} products{where} may need {int(INT32_HIGH - headroom[channel])}, more than int32 has",
            weights.span,
            help=f"leave the layer in floating point: --keep {layer}",
            code=AccumulatorOverflow,
        )
    if bias is not None:
        scales = _room_for_bias(scales, np.asarray(bias.data, np.float64).ravel(), data_scale, headroom, layer, bias)
    scales = scales.astype(np.float32)
    integers = np.clip(np.rint(rows / scales.astype(np.float64)[:, None]), -LARGEST, LARGEST)
    if axis < 0:
        return QuantizedWeights(integers.reshape(w.shape).astype(np.int8), scales.reshape(()), -1)
    moved = integers.reshape([w.shape[axis], *np.delete(w.shape, axis)])
    return QuantizedWeights(np.ascontiguousarray(np.moveaxis(moved, 0, axis)).astype(np.int8), scales, axis)


def largest_sums(integers: np.ndarray, low: int, high: int) -> np.ndarray:
    """For each row of weights the largest magnitude of a sum of products with any numbers from `low` to `high`.

    It holds for each partial sum in any order, and for products with the data before the zero point is taken off.
    """
    reach = max(abs(low), abs(high), high - low)
    return np.abs(integers).sum(axis=1) * reach


def _room_for_bias(
    scales: np.ndarray, bias: np.ndarray, data_scale: float, headroom: np.ndarray, layer: str, where: Constant
) -> np.ndarray:
    if not np.isfinite(bias).all():
        raise IrError(f"the bias of {layer} has {_worst(bias)}: it cannot be quantized", where.span)
    channels = np.abs(bias) if len(scales) > 1 else np.abs(bias).max(initial=0, keepdims=True)
    # Half of the room: larger scales make the products smaller, never larger, and float32 rounds the quotient.
    return np.maximum(scales, channels / (data_scale * np.maximum(headroom / 2, 1)))


def _worst(values: np.ndarray) -> str:
    return "NaN" if np.isnan(values).any() else "infinity"
