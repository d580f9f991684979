"""Random numbers, Fourier transforms, sparse matrices and 8-bit operators."""

from __future__ import annotations

from typing import Any

from ..single import BYTES, GENERATOR, POSITIVE, Single, between, columns_of_rows, ends_of_rows, places
from .statistics import MATRIX

_KEY = {"a": GENERATOR}
_DRAWN = {"values": _KEY, "random": True, "tolerance": 2e-2}

RANDOM = (
    Single("random.uniform", ((10,), (), ()), '%0 = random.uniform(%a, %b, %c, out_shape=[1024, 1024], out_dtype="float32"); %0.1', lambda t, f, a, b, c: t.rand(1024, 1024) * (c - b) + b, **_DRAWN),
    Single("random.normal", ((10,), (), ()), '%0 = random.normal(%a, %b, %c, out_shape=[1024, 1024], out_dtype="float32"); %0.1', lambda t, f, a, b, c: t.randn(1024, 1024) * c + b, **_DRAWN | {"values": _KEY | {"c": POSITIVE}}),
    Single("random.multinomial", ((10,), (64, 1000)), "%0 = random.multinomial(%a, %b, num_samples=1000); %0.1", lambda t, f, a, b: t.multinomial(b, 1000, replacement=True), **_DRAWN | {"values": _KEY | {"b": POSITIVE}}),
)  # fmt: skip


def _transform(t: Any, a: Any, b: Any, inverse: bool = False) -> Any:
    spectrum = (t.fft.ifft if inverse else t.fft.fft)(t.complex(a, b))
    return spectrum.real, spectrum.imag


TRANSFORMS = (
    Single("dft 1024", ((64, 1024), (64, 1024)), "dft(%a, %b)", lambda t, f, a, b: _transform(t, a, b)),
    Single("dft 1000", ((64, 1000), (64, 1000)), "dft(%a, %b)", lambda t, f, a, b: _transform(t, a, b)),
    Single("dft 64", ((1024, 64), (1024, 64)), "dft(%a, %b)", lambda t, f, a, b: _transform(t, a, b)),
    Single("dft inverse", ((64, 512), (64, 512)), "dft(%a, %b, inverse=True)", lambda t, f, a, b: _transform(t, a, b, inverse=True)),
    Single("stft", ((16000,), (400,)), "stft(%a, %b, n_fft=400, hop_length=160, win_length=400, normalized=False, onesided=True)", lambda t, f, a, b: t.view_as_real(t.stft(a, 400, 160, 400, b, center=False, return_complex=True))),
)  # fmt: skip

_ROWS, _PER_ROW, _COLUMNS = 512, 32, 512
_ELEMENTS = _ROWS * _PER_ROW


def _matrix(t: Any, data: Any, indices: Any, ends: Any) -> Any:
    """The sparse matrix of the rows that `_SPARSE` draws."""
    return t.sparse_csr_tensor(ends, indices, data, (_ROWS, _COLUMNS), check_invariants=False)


_SPARSE = {"c": columns_of_rows(_PER_ROW, _COLUMNS), "d": ends_of_rows(_PER_ROW)}
_OPERANDS = ((_ELEMENTS,), (_ELEMENTS,), (_ROWS + 1,))

SPARSE = (
    Single("sparse_dense", ((128, _COLUMNS), *_OPERANDS), "nn.sparse_dense(%a, %b, %c, %d)", lambda t, f, a, b, c, d: (_matrix(t, b, c, d) @ a.t()).t(), values=_SPARSE),
    Single("sparse_add", ((_ROWS, _COLUMNS), *_OPERANDS), "nn.sparse_add(%a, %b, %c, %d)", lambda t, f, a, b, c, d: a + _matrix(t, b, c, d), values=_SPARSE),
    Single("sparse_to_dense", ((4096, 2), (4096,), ()), "sparse_to_dense(%a, %b, %c, output_shape=[512, 512])", lambda t, f, a, b, c: t.full((512, 512), c.item()).index_put((a[:, 0], a[:, 1]), b), values={"a": places(512, 512)}),
)  # fmt: skip

_EIGHT_BITS = {"a": BYTES}
_PAIR = {"a": BYTES, "b": BYTES}
_STEP = 1e-2
"""One step of 8 bits: torch rounds halves to even, these operators away from zero or up."""


def _quantized(t: Any, values: Any, scale: float, zero_point: int) -> Any:
    return t._make_per_tensor_quantized_tensor(values, scale, zero_point)


QUANTIZED = (
    Single("qnn.quantize", (MATRIX,), 'qnn.quantize(%a, 0.05f, 3, out_dtype="int8")', lambda t, f, a: t.quantize_per_tensor(a, 0.05, 3, t.qint8).int_repr(), tolerance=_STEP),
    Single("qnn.dequantize", (MATRIX,), "qnn.dequantize(%a, 0.05f, 3)", lambda t, f, a: _quantized(t, a, 0.05, 3).dequantize(), values=_EIGHT_BITS),
    Single("qnn.requantize", ((512, 512),), 'qnn.requantize(%a, 0.002f, 0, 0.05f, 3, out_dtype="int8")', lambda t, f, a: ((a * (0.002 / 0.05)).round() + 3).clamp(-128, 127).to(t.int8), values={"a": between(-4000, 4000, "int32")}, tolerance=_STEP),
    Single("qnn.add", ((512, 512), (512, 512)), "qnn.add(%a, %b, 0.07f, 3, 0.05f, -4, 0.09f, 5)", lambda t, f, a, b: t.ops.quantized.add(_quantized(t, a, 0.07, 3), _quantized(t, b, 0.05, -4), 0.09, 5).int_repr(), values=_PAIR, tolerance=_STEP),
    Single("qnn.mul", ((512, 512), (512, 512)), "qnn.mul(%a, %b, 0.07f, 3, 0.05f, -4, 0.4f, 5)", lambda t, f, a, b: t.ops.quantized.mul(_quantized(t, a, 0.07, 3), _quantized(t, b, 0.05, -4), 0.4, 5).int_repr(), values=_PAIR, tolerance=_STEP),
    Single("qnn.sigmoid", ((512, 512),), "qnn.sigmoid(%a, 0.05f, 3, 0.00390625f, -128)", lambda t, f, a: t.ops.quantized.sigmoid(_quantized(t, a, 0.05, 3), 0.00390625, -128).int_repr(), values=_EIGHT_BITS, tolerance=_STEP),
    Single("qnn.dense", ((64, 512), (512, 512)), 'qnn.dense(%a, %b, 0, 0, 0.1f, 0.2f, units=512, out_dtype="int32")', lambda t, f, a, b: t._int_mm(a, b.t()), values=_PAIR),
    Single("qnn.conv2d", ((1, 64, 28, 28), (64, 64, 3, 3)), 'qnn.conv2d(%a, %b, 3, 0, 0.5f, 0.25f, padding=[1, 1], channels=64, kernel_size=[3, 3], out_dtype="int32")', lambda t, f, a, b: f.conv2d(a.float() - 3, b.float(), padding=1).int(), values=_PAIR),
    Single("qnn.batch_matmul", ((12, 128, 64), (12, 128, 64)), 'qnn.batch_matmul(%a, %b, 3, 0, 0.5f, 0.5f, out_dtype="int32", transpose_b=True)', lambda t, f, a, b: t.bmm(a.float() - 3, b.float().transpose(1, 2)).int(), values=_PAIR),
    Single("max_pool2d int8", ((1, 64, 56, 56),), "nn.max_pool2d(%a, pool_size=[2, 2], strides=[2, 2])", lambda t, f, a: f.max_pool2d(_quantized(t, a, 0.1, 0), 2).int_repr(), values=_EIGHT_BITS),
    Single("qnn.avg_pool2d", ((1, 64, 56, 56),), "qnn.avg_pool2d(%a, 0.1f, 0, 0.1f, 0, pool_size=[2, 2], strides=[2, 2])", lambda t, f, a: f.avg_pool2d(_quantized(t, a, 0.1, 0), 2).int_repr(), values=_EIGHT_BITS, tolerance=_STEP),
)  # fmt: skip
