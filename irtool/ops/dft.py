"""The discrete Fourier transform of complex signals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import te
from ..deferred import np
from ..ir import TupleType, Type
from ..tir.dtypes import accumulator_dtype
from .base import Operator, Pattern, RelationError, Reporter, operator
from .fourier import factors, not_a_number, second_step, turn, waves_of
from .fourier_passes import Passes, Signals, Spectra, passes_of, transform_in_passes
from .shapes import require_compatible, require_number, require_rank, tensor


@operator("dft", "re_data", "im_data", pattern=Pattern.OPAQUE, attrs="DFTAttrs", level=3, declares_attrs=False)
@dataclass(frozen=True)
class Dft(Operator):
    """The discrete Fourier transform along the last axis; takes and returns real and imaginary parts.

    `X[n] = sum over k of x[k] * exp(-2 pi i n k / N)`; `inverse` turns the sign around and divides by N. A signal with an
    infinity or a NaN has a transform of NaN throughout.
    """

    inverse: bool = False

    since = "0.12"

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """Two tensors of floating point of one shape, of rank 1 or more, give a tuple of two of the same types."""
        real, imaginary = tensor(types[0], "re_data"), tensor(types[1], "im_data")
        if real is None or imaginary is None:
            return None
        for t, name in ((real, "re_data"), (imaginary, "im_data")):
            if "float" not in t.dtype:
                raise RelationError(f"{name} must hold floating-point numbers, not {t.dtype}")
        if not real.shape:
            raise RelationError("re_data must have an axis to transform along")
        require_rank(imaginary, len(real.shape), "im_data")
        for axis, (a, b) in enumerate(zip(real.shape, imaginary.shape, strict=True)):
            require_compatible(a, b, f"axis {axis} of re_data and of im_data")
        return TupleType((real, imaginary))

    def evaluate(self, real: np.ndarray, imaginary: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if not real.shape[-1]:
            return real, imaginary
        with np.errstate(invalid="ignore"):
            signal = real.astype(np.float64) + 1j * imaginary.astype(np.float64)
            spectrum = np.fft.ifft(signal) if self.inverse else np.fft.fft(signal)
        spectrum[~np.isfinite(signal).all(-1)] = complex(math.nan, math.nan)
        return spectrum.real.astype(real.dtype), spectrum.imag.astype(imaginary.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        real, imaginary = inputs
        *batch, extent = real.shape
        require_number(extent, "the length of a transform")
        if not extent:
            return [te.compute(x.shape, lambda *i, x=x: x[i], name="empty") for x in inputs]
        wide = accumulator_dtype(real.dtype)
        if (passes := passes_of(extent)) is not None:
            return self._in_passes(inputs, passes, wide)
        p, q = factors(extent)

        def samples(outer: Any, i: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(te.cast(x[(*i, outer)], wide) for x in inputs)

        waves = waves_of(p, p, p, wide, self.inverse)
        k = te.reduce_axis(p, name="k")

        def first(*i: Any) -> Any:
            *outer, row, to, f = i
            a, b = samples(k * q + row, tuple(outer))
            return te.sum(a * waves(k, 0, to, f) + b * waves(k, 1, to, f), axis=k)

        spectrum = te.compute((*batch, q, 2, p), first, name="first_step")
        if q > 1:
            spectrum = second_step(turn(spectrum, extent, self.inverse), q, self.inverse)
        nothing = not_a_number(batch, extent, samples)
        scale = te.const(1.0 / extent if self.inverse else 1.0, wide)

        def result(part: int, name: str, dtype: str) -> Any:
            def element(*i: Any) -> Any:
                *outer, n = i
                value = spectrum[(*outer, te.floordiv(n, p), part, te.floormod(n, p))]
                return te.cast(value * scale + nothing[tuple(outer)], dtype)

            return te.compute(real.shape, element, name=name, tag="elemwise")

        return [result(0, "real", real.dtype), result(1, "imaginary", imaginary.dtype)]

    def _in_passes(self, inputs: Sequence[Any], passes: Passes, wide: str) -> list[Any]:
        real, _ = inputs
        *batch, extent = real.shape

        def samples(outer: Any, i: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(te.cast(x[(*i, outer)], wide) for x in inputs)

        def sample(ins: Sequence[Any], i: tuple[Any, ...], position: Any) -> tuple[Any, Any]:
            a, b = (te.cast(x[(*i, position)], wide) for x in ins)
            return a, b

        def store(ib: Any, ins: Sequence[Any], outs: Sequence[Any], i: tuple[Any, ...], n: Any, *parts: Any) -> None:
            for out, part in zip(outs, parts, strict=True):
                ib.store(out, (*i, n), te.cast(part + ins[0][i], out.dtype))

        nothing = not_a_number(batch, extent, samples)
        spectra = Spectra([nothing], [x.shape for x in inputs], [x.dtype for x in inputs], store)
        return transform_in_passes(Signals(inputs, batch, extent, sample, wide), passes, self.inverse, spectra)
