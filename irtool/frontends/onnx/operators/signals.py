"""Fourier transforms of signals, whose last axis holds the real part, or the real and the imaginary part."""

from __future__ import annotations

import math

from ....deferred import np
from ....diagnostics import IrError
from ....ir import Tuple, TupleGetItem
from ..memory_limit import counted, filled, require_room
from ..mistakes import DamagedModel, UnknownExtent
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..tensors import dtype_of
from ..value import Value, apply
from .choice import constant_number


def _part(x: Value, which: int) -> Value:
    return x.call("take", Value.constant(np.int64(which)), axis=x.rank - 1)


def _first(x: Value, count: int) -> Value:
    """The first elements along the last axis, behind them zeros if there are not enough."""
    extent = x.extents("the signal")[-1]
    if count > extent:
        widths = [(0, 0)] * (x.rank - 1) + [(0, count - extent)]
        return x.call("nn.pad", Value.constant(0, x.dtype), pad_width=widths)
    return x if count == extent else _range(x, 0, count)


def _range(x: Value, begin: int, end: int) -> Value:
    return x.call("strided_slice", begin=[begin], end=[end], strides=[1], axes=[x.rank - 1])


def _mirrored(x: Value, count: int) -> Value:
    """A spectrum of which the first half is given, at full length."""
    half = count // 2 + 1
    x = _first(x, half)
    if count == half:
        return x
    rest = _range(x, 1, count - half + 1).call("reverse", axis=x.rank - 1)
    return apply("concatenate", Tuple((x.expr, rest.expr)), axis=x.rank - 1)


def _transform(re: Value, im: Value, inverse: bool) -> tuple[Value, Value]:
    spectrum = re.call("dft", im, inverse=inverse)
    real, imaginary = (Value.of(TupleGetItem(spectrum.expr, i)) for i in range(2))
    return real, imaginary


@onnx_operator("DFT")
class DFT(OnnxOperator):
    """The discrete Fourier transform, or the inverse one; `onesided` leaves out the symmetric half of a real signal."""

    @since(17)
    def axis_as_attribute(
        self, x: Value, length: Value | None = None, *, axis: int = 1, inverse: int = 0, onesided: int = 0
    ) -> Result:
        return self._along(x, length, axis, bool(inverse), bool(onesided))

    @since(20)
    def axis_as_input(
        self, x: Value, length: Value | None = None, axis: Value | None = None, *, inverse: int = 0, onesided: int = 0
    ) -> Result:
        signal_axis = -2 if axis is None else axis.number("the axis of DFT")
        return self._along(x, length, signal_axis, bool(inverse), bool(onesided))

    def _along(self, x: Value, length: Value | None, axis: int, inverse: bool, onesided: bool) -> Result:
        positive_axis, extents = x.axis(axis), x.extents("the signal", least=2)
        if positive_axis == x.rank - 1 or extents[-1] not in (1, 2):
            raise IrError(
                f"{x.tensor} is no signal along axis {positive_axis} with real and imaginary parts", code=DamagedModel
            )
        irfft = inverse and onesided
        count = 2 * (extents[positive_axis] - 1) if irfft else extents[positive_axis]
        if length is not None:
            count = length.number("the length of DFT")
        if count < 1:
            raise IrError(f"the length of the transform is {count}", code=DamagedModel)
        order = [i for i in range(x.rank) if i != positive_axis]
        x = x.call("transpose", axes=[*order[:-1], positive_axis, x.rank - 1])
        re = _part(x, 0)
        im = _part(x, 1) if extents[-1] == 2 else re.call("zeros_like")
        if irfft:
            re, im = _mirrored(re, count), _mirrored(im, count)
            # The other half is conjugate.
            sign = np.where(counted(count, "the signs of a spectrum") > count // 2, -1, 1)
            im = im.call("multiply", Value.constant(sign, im.dtype))
        else:
            re, im = _first(re, count), _first(im, count)
        re, im = _transform(re, im, inverse)
        if onesided and not inverse:
            re, im = _first(re, count // 2 + 1), _first(im, count // 2 + 1)
        parts = [re] if irfft else [re, im]
        stacked = apply("stack", Tuple(tuple(p.expr for p in parts)), axis=re.rank)
        back = [*range(positive_axis), x.rank - 2, *range(positive_axis, x.rank - 2), x.rank - 1]
        return stacked.call("transpose", axes=back) if back != sorted(back) else stacked


@onnx_operator("STFT")
class STFT(OnnxOperator):
    """Fourier transforms of windows of a signal, `frame_step` apart: (batch, frame, frequency, part)."""

    @since(17)
    def windows(
        self,
        signal: Value,
        frame_step: Value,
        window: Value | None = None,
        frame_length: Value | None = None,
        *,
        onesided: int = 1,
    ) -> Result:
        extents = signal.extents("the signal", least=2)
        length = extents[1]
        if frame_length is not None:
            length = frame_length.number("the length of a frame")
        elif window is not None:
            (length,) = window.extents("the window", rank=1)
        step = frame_step.number("the step of frames")
        if step < 1 or not 0 < length <= extents[1]:
            raise IrError(f"frames of {length}, {step} apart, are none of a signal of {extents[1]}", code=DamagedModel)
        if window is not None and window.shape != (length,):
            raise IrError(f"a window of {window.tensor} does not fit frames of {length}", code=DamagedModel)
        if signal.rank == 2 or extents[-1] == 1:
            return self._real(signal, step, length, window, bool(onesided))
        starts = counted((extents[1] - length) // step + 1, "the frames of a signal") * step
        require_room((len(starts), length), "the frames of a signal")
        positions = Value.constant(starts[:, None] + counted(length, "a frame"))
        re, im = (_part(signal, i).call("take", positions, axis=1) for i in range(2))
        if window is not None:
            re, im = re.call("multiply", window), im.call("multiply", window)
        re, im = _transform(re, im, False)
        if onesided:
            re, im = _first(re, length // 2 + 1), _first(im, length // 2 + 1)
        return apply("stack", Tuple((re.expr, im.expr)), axis=re.rank)

    def _real(self, signal: Value, step: int, length: int, window: Value | None, onesided: bool) -> Value:
        signal = signal if signal.rank == 2 else signal.call("squeeze", axis=[2])
        if window is None:
            window = Value.constant(filled(length, 1, "the window of a signal"), signal.dtype)
        lengths = {"n_fft": length, "win_length": length, "hop_length": step}
        frames = signal.call("stft", window, **lengths, normalized=False, onesided=onesided)
        return frames.call("transpose", axes=[0, 2, 1, 3])


@onnx_operator("MelWeightMatrix")
class MelWeightMatrix(OnnxOperator):
    """The weights of frequencies in bands of the mel scale, `mel(f) = 2595 log10(1 + f / 700)`: triangles, 1 at the top."""

    @since(17)
    def triangles(
        self, bands: Value, length: Value, rate: Value, lowest: Value, highest: Value, *, output_datatype: int = 1
    ) -> Result:
        numbers = [constant_number(v) for v in (bands, length, rate, lowest, highest)]
        if any(n is None for n in numbers):
            raise IrError("the parameters of the matrix must be known", code=UnknownExtent)
        count, size, samples, low, high = (n for n in numbers if n is not None)
        if not (math.isfinite(count) and math.isfinite(size)):
            raise IrError(f"there are no {count} bands of {size} bins", code=DamagedModel)
        count, size = int(count), int(size)
        if min(count, size, low, high) < 0 or not all(map(math.isfinite, (samples, low, high))) or not samples:
            raise IrError(f"{count} bands of {size} bins from {low} to {high} at {samples} are none", code=DamagedModel)
        require_room((count, size // 2 + 1), "the matrix of bands")
        ends = [2595 * math.log10(1 + f / 700) for f in (low, high)]
        mels = ends[0] + counted(count + 2, "the bands") * (ends[1] - ends[0]) / (count + 2)
        hertz = 700 * (10 ** (mels / 2595) - 1)
        edges = np.floor((size + 1) * hertz / samples).astype("int64")[:, None]
        left, top, right = edges[:-2], edges[1:-1], edges[2:]
        bins = counted(size // 2 + 1, "the bins")
        up = np.where(top > left, (bins - left) / np.maximum(top - left, 1), 1.0)
        down = (right - bins) / np.maximum(right - top, 1)
        weights = np.where((left <= bins) & (bins <= top), up, 0.0)
        weights = np.where((top <= bins) & (bins < right), down, weights)
        return Value.constant(np.ascontiguousarray(weights.T), dtype_of(output_datatype, "the matrix"))
