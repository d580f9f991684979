"""The short-time Fourier transform."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import te
from ..deferred import np
from ..diagnostics import IrError
from ..ir import TensorType, Type
from ..tir.dtypes import accumulator_dtype
from .base import Operator, Pattern, RelationError, Reporter, operator
from .fourier import MOST_IN_TABLE, factors, not_a_number, product, second_step, single_waves, wave
from .shapes import add, floordiv, require_floats, require_rank, sub, tensor
from .waves import waves

_GAIN = 2.5
"""Two steps store their samples in between and have fewer results side by side: they take so many times as long for a multiplication."""


@operator("stft", "data", "window", pattern=Pattern.OPAQUE, attrs="StftAttrs", level=3, declares_attrs=False)
@dataclass(frozen=True)
class Stft(Operator):
    """Fourier transforms of windows of a signal, `hop_length` apart: (batch,) frequency, frame, real and imaginary part.

    Sums over the `win_length` samples of a window; `onesided` keeps the frequencies up to n_fft / 2, `normalized` divides
    by sqrt(n_fft). The signal is a vector, or a batch of them. A window with an infinity or a NaN has a transform of NaN throughout.
    """

    no_gradient = "sliding_window and dft, of which it is made, have one"

    n_fft: int = -1
    hop_length: int = -1
    win_length: int = -1
    normalized: bool = False
    onesided: bool = True

    shape_from_data = True

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """`(…, frequencies, frames, 2)` of the data's dtype; the signal is a vector or a batch of them."""
        x = tensor(types[0], "data")
        if x is None:
            return None
        if len(x.shape) not in (1, 2):
            raise RelationError(f"data must be a vector or a batch of vectors, not {x}")
        require_floats(x, "data")
        for name, value in (("n_fft", self.n_fft), ("hop_length", self.hop_length), ("win_length", self.win_length)):
            if value < 1:
                raise RelationError(f"{name} must be positive, not {value}")
        if self.win_length > self.n_fft:
            raise RelationError(f"win_length must be at most n_fft, {self.n_fft}, not {self.win_length}")
        window = tensor(types[1], "window")
        if window is not None:
            require_rank(window, 1, "window")
            if isinstance(window.shape[0], int) and window.shape[0] < self.win_length:
                raise RelationError(f"a window of {self.win_length} is needed, not {window}")
        if isinstance(x.shape[-1], int) and x.shape[-1] < self.n_fft:
            raise RelationError(f"windows of {self.n_fft} samples do not fit a signal of {x.shape[-1]}")
        frequencies = self.n_fft // 2 + 1 if self.onesided else self.n_fft
        frames = add(floordiv(sub(x.shape[-1], self.n_fft), self.hop_length), 1)
        return TensorType((*x.shape[:-1], frequencies, frames, 2), x.dtype)

    def evaluate(self, x: np.ndarray, window: np.ndarray) -> np.ndarray:
        frames = (x.shape[-1] - self.n_fft) // self.hop_length + 1
        if frames < 1 or (frames - 1) * self.hop_length + self.win_length > x.shape[-1]:
            raise IrError(f"windows of {self.win_length} samples do not fit a signal of {x.shape[-1]}")
        samples = np.arange(frames)[:, None] * self.hop_length + np.arange(self.win_length)
        with np.errstate(invalid="ignore", over="ignore"):
            pieces = x[..., samples].astype("float64") * window[: self.win_length]
            frequencies = np.arange(self.n_fft // 2 + 1 if self.onesided else self.n_fft)
            cos, sin = waves(np.outer(frequencies, np.arange(self.win_length)), self.win_length)
            spectrum = np.stack([pieces @ cos.T, pieces @ -sin.T], axis=-1)
        spectrum[~np.isfinite(pieces).all(-1)] = math.nan
        spectrum = np.swapaxes(spectrum, -2, -3)
        if self.normalized:
            spectrum = spectrum / math.sqrt(self.n_fft)
        return spectrum.astype(x.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        x, window = inputs
        *batch, frequencies, frames, _ = out_type.shape
        dtype = accumulator_dtype(x.dtype)
        p, q, count = self._steps(frequencies)
        k = te.reduce_axis(p, name="k")

        side = frequencies if q == 1 else p
        large = 2 * self.win_length * side > MOST_IN_TABLE
        single = single_waves(self.win_length, dtype)

        def wave_at(steps: Any, part: Any) -> Any:
            return single(steps, part) if large else wave(steps, self.win_length, part, dtype)

        def wave_in_window(row: Any, position: Any, part: Any, f: Any) -> Any:
            sample = position * q + row
            return te.cast(window[sample], dtype) * wave_at(product(sample, f), part)

        table = te.compute((q, p, 2, side), wave_in_window, name="waves_in_window") if not large else None

        def sample_of(position: Any, i: tuple[Any, ...]) -> Any:
            *where, frame = i
            return te.cast(x[(*where, frame * self.hop_length + position)], dtype)

        def first(*i: Any) -> Any:
            *position, row, part, f = i
            wave_there = wave_in_window(row, k, part, f) if table is None else table[row, k, part, f]
            return te.sum(sample_of(k * q + row, tuple(position)) * wave_there, axis=k)

        spectrum = te.compute((*batch, frames, q, 2, side), first, name="first_step")
        spectrum = second_step(spectrum, count) if q > 1 else spectrum
        nothing = not_a_number(
            (*batch, frames),
            self.win_length,
            lambda position, i: [sample_of(position, i) * te.cast(window[position], dtype)],
        )
        scale = te.const(1 / math.sqrt(self.n_fft) if self.normalized else 1.0, dtype)

        def result(*i: Any) -> Any:
            *position, n, frame, part = i
            value = spectrum[(*position, frame, te.floordiv(n, side), part, te.floormod(n, side))]
            return te.cast(value * scale + nothing[(*position, frame)], x.dtype)

        return te.compute(out_type.shape, result, tag="elemwise")

    def _steps(self, frequencies: int) -> tuple[int, int, int]:
        """P and Q, and the frequencies of the second step; one step, with all frequencies side by side, unless two take far fewer
        multiplications."""
        p, q = factors(self.win_length)
        count = -(-frequencies // p)
        one, two = self.win_length * frequencies, self.win_length * p + 2 * count * p * q
        return (p, q, count) if q > 1 and _GAIN * two < one else (self.win_length, 1, 1)
