"""Tables of the angles by which pairs of elements turn at each position."""

from __future__ import annotations

import math

from ...deferred import np
from ..onnx.memory_limit import require_room
from ..onnx.value import Value
from .metadata import Configuration


def rotary_tables(
    c: Configuration, base: float, factors: np.ndarray | None, capacity: int, is_scaled: bool
) -> tuple[Value, Value]:
    """Cosines and sines, `(capacity, rotary_size / 2)`, computed in float64. `factors` divide the frequencies, one each."""
    half = c.rotary_size // 2
    require_room((capacity, half), "the table of angles")
    frequencies = base ** (-np.arange(half, dtype=np.float64) / half)
    if factors is not None:
        frequencies = frequencies / factors.astype(np.float64)
    magnitude = 1.0
    if is_scaled:
        frequencies, magnitude = _scaled(c, base, frequencies)
    angles = np.arange(capacity, dtype=np.float64)[:, None] * frequencies
    cosines, sines = (Value.constant((magnitude * f(angles)).astype(np.float32)) for f in (np.cos, np.sin))
    return cosines, sines


def _scaled(c: Configuration, base: float, frequencies: np.ndarray) -> tuple[np.ndarray, float]:
    """The frequencies for a longer context, and the factor of cosines and sines."""
    s = c.scaling
    if s.kind == "linear":
        return frequencies / s.factor, s.attention or 1.0
    if s.kind == "yarn":
        return _yarn(c, base, frequencies), s.attention or 1 + 0.1 * math.log(s.factor)
    return frequencies, s.attention or 1.0


def _yarn(c: Configuration, base: float, frequencies: np.ndarray) -> np.ndarray:
    """YaRN (Peng and others, 2023): fast pairs turn as before, slow ones by the scaled angle, those between by a mixture."""

    def pair_of(turns: float) -> float:
        """The pair that turns so often in the original context."""
        return c.rotary_size * math.log(c.scaling.original / (turns * 2 * math.pi)) / (2 * math.log(base))

    low, high = max(math.floor(pair_of(32.0)), 0), min(math.ceil(pair_of(1.0)), c.rotary_size - 1)
    ramp = np.clip((np.arange(len(frequencies)) - low) / max(high - low, 0.001), 0, 1)
    return frequencies / c.scaling.factor * ramp + frequencies * (1 - ramp)
