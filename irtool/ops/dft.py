"""The discrete Fourier transform of complex signals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import te
from ..deferred import np
from ..ir import TupleType, Type
from ..tir.dtypes import accumulator_dtype
from .base import Operator, Pattern, RelationError, Reporter, operator
from .shapes import require_compatible, require_rank, tensor
from .waves import wave_expressions, waves


@operator("dft", "re_data", "im_data", pattern=Pattern.OPAQUE, attrs="DFTAttrs", level=3, declares_attrs=False)
@dataclass(frozen=True)
class Dft(Operator):
    """The discrete Fourier transform along the last axis; takes and returns real and imaginary parts.

    `X[n] = sum over k of x[k] * exp(-2 pi i n k / N)`; `inverse` turns the sign around and divides by N.
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
        re, im, extent = real.astype(np.float64), imaginary.astype(np.float64), real.shape[-1]
        if not extent:
            return real, imaginary
        if np.isfinite(re).all() and np.isfinite(im).all():
            signal = re + 1j * im
            signal = np.fft.ifft(signal) if self.inverse else np.fft.fft(signal)
            return signal.real.astype(real.dtype), signal.imag.astype(imaginary.dtype)
        # Infinity meets what the definition multiplies it by, not what a fast transform does.
        cos, sin = waves(np.outer(np.arange(extent), np.arange(extent)), extent)
        sin, scale = (sin, extent) if self.inverse else (-sin, 1)
        left, right = re[..., None, :], im[..., None, :]
        return (
            ((left * cos - right * sin).sum(-1) / scale).astype(real.dtype),
            ((left * sin + right * cos).sum(-1) / scale).astype(imaginary.dtype),
        )

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        real, imaginary = inputs
        extent = real.shape[-1]
        wide = accumulator_dtype(real.dtype)
        scale = te.const(1.0 / extent if self.inverse and extent else 1.0, wide)

        def part(name: str, dtype: str, term: Any) -> Any:
            k = te.reduce_axis(extent, name="k")

            def element(*i: Any) -> Any:
                cos, sin = wave_expressions(te.cast(i[-1], "int64") * te.cast(k, "int64"), extent, wide)
                at = (*i[:-1], k)
                a, b = te.cast(real[at], wide), te.cast(imaginary[at], wide)
                return te.sum(term(a, b, cos, sin if self.inverse else -sin), axis=k)

            total = te.compute(real.shape, element, name=f"dft_{name}")
            return te.compute(real.shape, lambda *i: te.cast(total[i] * scale, dtype), name=name, tag="elemwise")

        return [
            part("real", real.dtype, lambda a, b, cos, sin: a * cos - b * sin),
            part("imaginary", imaginary.dtype, lambda a, b, cos, sin: a * sin + b * cos),
        ]
