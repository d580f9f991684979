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
from .shapes import add, floordiv, require_floats, require_rank, sub, tensor
from .waves import wave_expressions, waves


@operator("stft", "data", "window", pattern=Pattern.OPAQUE, attrs="StftAttrs", level=3, declares_attrs=False)
@dataclass(frozen=True)
class Stft(Operator):
    """Fourier transforms of windows of a signal, `hop_length` apart: (batch,) frequency, frame, real and imaginary part.

    Sums over the `win_length` samples of a window; `onesided` keeps the frequencies up to n_fft / 2, `normalized` divides
    by sqrt(n_fft). The signal is a vector, or a batch of them.
    """

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
        at = np.arange(frames)[:, None] * self.hop_length + np.arange(self.win_length)
        pieces = x[..., at].astype("float64") * window[: self.win_length]
        frequencies = np.arange(self.n_fft // 2 + 1 if self.onesided else self.n_fft)
        cos, sin = waves(np.outer(frequencies, np.arange(self.win_length)), self.win_length)
        real, imaginary = pieces @ cos.T, pieces @ -sin.T
        spectrum = np.stack([np.swapaxes(real, -1, -2), np.swapaxes(imaginary, -1, -2)], axis=-1)
        if self.normalized:
            spectrum = spectrum / math.sqrt(self.n_fft)
        return spectrum.astype(x.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        x, window = inputs
        dtype = accumulator_dtype(x.dtype)
        k = te.reduce_axis(self.win_length, name="k")
        scale = te.const(1 / math.sqrt(self.n_fft) if self.normalized else 1.0, dtype)

        def element(*i: Any) -> Any:
            *batch, frequency, frame, part = i
            steps = te.cast(frequency, "int64") * te.cast(k, "int64")
            cos, sin = wave_expressions(steps, self.win_length, dtype)
            wave = te.select(part == 0, cos, te.const(0.0, dtype) - sin)
            sample = te.cast(x[(*batch, frame * self.hop_length + k)], dtype)
            return te.sum(te.cast(window[k], dtype) * sample * wave, axis=k)

        total = te.compute(out_type.shape, element, name="stft")
        if not self.normalized and dtype == x.dtype:
            return total
        return te.compute(out_type.shape, lambda *i: te.cast(total[i] * scale, x.dtype))
