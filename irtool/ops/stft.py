"""The short-time Fourier transform."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from .. import te
from ..deferred import np
from ..diagnostics import IrError
from ..ir import TensorType, Type
from ..tir.dtypes import accumulator_dtype
from .base import Operator, Pattern, RelationError, Reporter, operator
from .fourier import MOST_IN_TABLE, factors, not_a_number, product, second_step, single_waves, wave
from .fourier_passes import Passes, Signals, Spectra, passes_of, transform_in_passes
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
        if self.win_length % 2 == 0 and (passes := passes_of(self.win_length // 2)) is not None:
            return self._in_passes(inputs, passes, dtype, out_type)
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
        nothing = self._nothing(x, window, (*batch, frames), dtype)
        scale = self._scale(dtype)

        def result(*i: Any) -> Any:
            *position, n, frame, part = i
            value = spectrum[(*position, frame, te.floordiv(n, side), part, te.floormod(n, side))]
            return te.cast(value * scale + nothing[(*position, frame)], x.dtype)

        return te.compute(out_type.shape, result, tag="elemwise")

    def _in_passes(self, inputs: Sequence[Any], passes: Passes, dtype: str, out_type: Any) -> Any:
        """A transform of half as many complex samples, the even ones with the odd ones as their imaginary parts, of which the spectra of
        both follow (Sorensen and others 1987)."""
        x, window = inputs
        *batch, _, frames, _ = out_type.shape
        half = self.win_length // 2
        outer = (*batch, frames)

        def sample(ins: Sequence[Any], i: tuple[Any, ...], position: Any) -> tuple[Any, Any]:
            *where, frame = i
            even, odd = (
                te.cast(ins[0][(*where, frame * self.hop_length + n)], dtype) * te.cast(ins[1][n], dtype)
                for n in (position * 2, position * 2 + 1)
            )
            return even, odd

        def store(ib: Any, ins: Sequence[Any], outs: Sequence[Any], i: tuple[Any, ...], n: Any, *parts: Any) -> None:
            for out, part in zip(outs, parts, strict=True):
                ib.store(out, (*i, n), part)

        spectra = Spectra([], [(*outer, half)] * 2, [dtype] * 2, store)
        packed = transform_in_passes(Signals(inputs, outer, half, sample, dtype), passes, False, spectra)
        turns = te.compute(
            (2, half + 1), lambda part, n: wave(te.cast(n, "int64"), self.win_length, part, dtype), name="turns"
        )

        by_frequency = [_with_axis_first(z, len(batch)) for z in packed]
        scale = self._scale(dtype) * te.const(0.5, dtype)

        def unpack(ib: Any, ins: Sequence[Any], outs: Sequence[Any]) -> None:
            *parts, turn = ins
            with ExitStack() as loops:
                *where, n, frame = (loops.enter_context(ib.for_(extent)) for extent in outs[0].shape)
                a, b, c, d = (z[(*where, te.floormod(k, half), frame)] for k in (n, half - n) for z in parts)
                cos, sin, across, down = turn[0, n], turn[1, n], b + d, a - c
                ib.store(outs[0], (*where, n, frame), (a + c + cos * across + sin * down) * scale)
                ib.store(outs[1], (*where, n, frame), (b - d + sin * across - cos * down) * scale)

        shape = (*batch, half + 1, frames)
        parts = te.extern([shape] * 2, [*by_frequency, turns], unpack, dtype=[dtype] * 2, name="unpacked")
        nothing = self._nothing(x, window, outer, dtype)
        repeats = out_type.shape[-3] > half + 1

        def result(*i: Any) -> Any:
            *where, n, frame, part = i
            turn = te.floormod(n, self.win_length) if repeats else n
            mirrored = te.minimum(turn, self.win_length - turn) if repeats else n
            real, imaginary = (z[(*where, mirrored, frame)] for z in parts)
            if repeats:
                imaginary = imaginary * te.select(turn > half, te.const(-1, dtype), te.const(1, dtype))
            value = te.if_then_else(part.equal(0), real, imaginary)
            return te.cast(value + nothing[(*where, frame)], x.dtype)

        return te.compute(out_type.shape, result, tag="elemwise")

    def _nothing(self, x: Any, window: Any, shape: Sequence[int], dtype: str) -> Any:
        """0 for each window of finite samples, NaN for any other."""

        def samples(position: Any, i: tuple[Any, ...]) -> list[Any]:
            *where, frame = i
            sample = te.cast(x[(*where, frame * self.hop_length + position)], dtype)
            return [sample * te.cast(window[position], dtype)]

        return not_a_number(shape, self.win_length, samples)

    def _scale(self, dtype: str) -> Any:
        return te.const(1 / math.sqrt(self.n_fft) if self.normalized else 1.0, dtype)

    def _steps(self, frequencies: int) -> tuple[int, int, int]:
        """P and Q, and the frequencies of the second step; one step, with all frequencies side by side, unless two take far fewer
        multiplications."""
        p, q = factors(self.win_length)
        count = -(-frequencies // p)
        one, two = self.win_length * frequencies, self.win_length * p + 2 * count * p * q
        return (p, q, count) if q > 1 and _GAIN * two < one else (self.win_length, 1, 1)


def _with_axis_first(x: Any, axis: int) -> Any:
    """The tensor with its last axis before those from `axis` on."""
    shape = (*x.shape[:axis], x.shape[-1], *x.shape[axis:-1])
    return te.compute(shape, lambda *i: x[(*i[:axis], *i[axis + 1 :], i[axis])], name="by_frequency")
