"""Sorting and scans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ....deferred import np
from ..dtypes import is_float
from ..form import Form, decomposed, form
from ..graph import Value
from ..site import OnnxSite


@form("sort", "argsort")
@dataclass(frozen=True)
class Sort(Form):
    """`TopK` of all elements"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        x = s.inputs[0]
        axis = s.axes(0, [s.attrs.axis])[0]
        values, indices = top(s, x, s.tensor(0).shape[axis], axis, not s.attrs.is_ascend)
        return s.cast(indices, s.out.dtype) if s.attrs.name == "argsort" else s.cast(values, s.out.dtype)


def top(s: OnnxSite, x: Value, count: Any, axis: int, largest: bool) -> tuple[Value, Value]:
    """The first elements in order, and their positions."""
    amount = s.ints(int(count)) if isinstance(count, int) else s.slice(s.shape(x), [axis], [axis + 1], [0])
    wide = x.dtype if x.dtype in ("float32", "float64", "int32") else "float32" if is_float(x.dtype) else "int64"
    outputs = s.nodes(
        "TopK",
        2,
        s.shifted(x) if x.dtype == "uint64" else s.cast(x, wide),
        amount,
        dtypes=[wide, "int64"],
        axis=axis,
        largest=int(largest),
        sorted=1,
    )
    return s.unshifted(outputs[0]) if x.dtype == "uint64" else s.cast(outputs[0], x.dtype), outputs[1]


@form("topk")
@dataclass(frozen=True)
class TopK(Form):
    """`TopK`"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        attrs = s.attrs
        axis = s.axes(0, [attrs.axis])[0]
        extent = s.tensor(0).shape[axis]
        count = (
            extent if attrs.k is None or attrs.k < 1 else min(attrs.k, extent) if isinstance(extent, int) else attrs.k
        )
        values, indices = top(s, s.inputs[0], count, axis, not attrs.is_ascend)
        if attrs.ret_type == "values":
            return values
        dtype = (s.out if attrs.ret_type == "indices" else s.fields[1]).dtype
        indices = s.cast(indices, dtype)
        return indices if attrs.ret_type == "indices" else (values, indices)


@form("cumsum")
@dataclass(frozen=True)
class CumSum(Form):
    """`CumSum`, of the flattened tensor without an axis"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        x, axis = _flattened(s)
        x = s.cast(x, s.out.dtype)
        wide = "int32" if x.dtype == "bool" else x.dtype
        sums = s.node("CumSum", s.cast(x, wide), s.constant(axis, "int64"), exclusive=int(bool(s.attrs.exclusive)))
        return s.cast(sums, s.out.dtype)


def _flattened(s: OnnxSite) -> tuple[Value, int]:
    if s.attrs.axis is None:
        return s.reshape(s.inputs[0], [-1]), 0
    return s.inputs[0], s.axes(0, [s.attrs.axis])[0]


@decomposed("`Mul` with the tensor shifted by 1, 2, 4 … places", "cumprod")
def cumprod(s: OnnxSite) -> Value:
    x, axis = _flattened(s)
    x = s.cast(x, s.out.dtype)
    shape = s.static(s.out)
    extent, rank = shape[axis], len(shape)
    one = s.scalar(1, x)

    def shifted(v: Value, by: int) -> Value:
        pads = [0] * (2 * rank)
        pads[axis] = by
        remaining = s.slice(v, [0], [max(extent - by, 0)], [axis])
        return s.node("Pad", remaining, s.ints(*pads), one)

    if s.attrs.exclusive:
        x = shifted(x, 1)
    step = 1
    while step < extent:
        x = s.mul(x, shifted(x, step))
        step *= 2
    return s.node("Identity", x)


@form("unique")
@dataclass(frozen=True)
class Unique(Form):
    """`Unique`, its results padded to the length of the input as in Relay"""

    def emit(self, s: OnnxSite) -> Any:
        x = s.inputs[0]
        wide = x.dtype if x.dtype in ("float32", "float64", "int8") else "float32" if is_float(x.dtype) else "int64"
        data = s.shifted(x) if x.dtype == "uint64" else s.cast(x, wide)
        values, first, inverse, counts = s.nodes(
            "Unique", 4, data, dtypes=[wide, "int64", "int64", "int64"], sorted=int(bool(s.attrs.sorted))
        )
        fields = s.fields
        values = s.unshifted(values) if x.dtype == "uint64" else values
        size = s.shape(values)
        total = s.extent(0, 0)
        pads = s.concat([s.ints(0), s.sub(total, size)], 0)

        def padded(v: Value, fill: Value) -> Value:
            return s.node("Pad", v, pads, fill)

        padded_values = [padded(values, s.scalar(0, values)), padded(first, s.squeeze(total, 0)), inverse, size]
        if len(fields) > 4:
            padded_values.append(padded(counts, s.scalar(0, counts)))
        return tuple(s.cast(v, t.dtype) for v, t in zip(padded_values, fields, strict=True))


@form("stft")
@dataclass(frozen=True)
class Stft(Form):
    """`MatMul` of the windows, gathered from constant places, with constant waves; `Transpose`, `Concat`"""

    def emit(self, s: OnnxSite) -> Any:
        x, window = s.inputs
        attrs = s.attrs
        length, shape = s.dims(0)[-1], s.dims(0)
        frames = (length - attrs.n_fft) // attrs.hop_length + 1
        positions = np.arange(frames)[:, None] * attrs.hop_length + np.arange(attrs.win_length)
        pieces = s.node("Gather", x, s.constant(positions, "int64"), axis=len(shape) - 1)
        pieces = s.mul(pieces, s.slice(s.cast(window, x.dtype), [0], [attrs.win_length], [0]))
        frequencies = np.arange(attrs.n_fft // 2 + 1 if attrs.onesided else attrs.n_fft)
        angles = 2 * np.pi * np.outer(np.arange(attrs.win_length), frequencies) / attrs.win_length
        scale = 1 / np.sqrt(attrs.n_fft) if attrs.normalized else 1.0
        rank = len(shape)
        order = [*range(rank - 1), rank, rank - 1]
        parts = [
            s.unsqueeze(s.transpose(s.node("MatMul", pieces, s.constant(wave * scale, x.dtype)), order), rank + 1)
            for wave in (np.cos(angles), -np.sin(angles))
        ]
        return s.concat(parts, rank + 1)


@decomposed("both parts joined along a last axis, `DFT`, the parts taken apart", "dft")
def dft(s: OnnxSite) -> Any:
    real, imaginary = s.inputs
    rank = len(s.tensor(0).shape)
    joined = s.node("Concat", s.unsqueeze(real, rank), s.unsqueeze(imaginary, rank), axis=rank)
    inverse = int(bool(s.attrs.inverse))
    if s.opset < 20:
        spectrum = s.node("DFT", joined, axis=rank - 1, inverse=inverse)
    else:
        spectrum = s.node("DFT", joined, None, s.constant(rank - 1, "int64"), inverse=inverse)
    return tuple(s.reshape(s.slice(spectrum, [k], [k + 1], [rank]), s.dims(0)) for k in (0, 1))
