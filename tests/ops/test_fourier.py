"""Fourier transforms in C, in passes, in one step and in two, beside those of the interpreter."""

from __future__ import annotations

import math

import numpy as np
import pytest

import irtool
from irtool import te
from irtool.ops.butterflies import Complex, Signed, transform
from irtool.ops.fourier import factors
from irtool.ops.fourier_passes import Passes, passes_of

HEADER = '#[version = "0.0.5"]\n'


def both(text: str, inputs: dict[str, np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Every result as the interpreter and as compiled C have it."""
    module = irtool.infer_types(irtool.parse(HEADER + text))
    pairs = [irtool.evaluate(module, list(inputs.values())), irtool.build(module, cache=False).run(inputs)]
    expected, actual = (list(map(np.asarray, x)) if isinstance(x, tuple | list) else [np.asarray(x)] for x in pairs)
    return list(zip(expected, actual, strict=True))


def close(expected: np.ndarray, actual: np.ndarray, tolerance: float) -> None:
    assert np.array_equal(np.isnan(expected), np.isnan(actual))
    known = ~np.isnan(expected)
    largest = np.abs(expected[known]).max(initial=0)
    assert np.abs(expected[known] - actual[known]).max(initial=0) <= tolerance * max(largest, 1)


@pytest.mark.parametrize("extent", [1, 2, 3, 13, 16, 34, 60, 96, 98, 127, 256, 480])
@pytest.mark.parametrize("inverse", [False, True])
def test_transforms_of_any_length(extent: int, inverse: bool) -> None:
    rng = np.random.default_rng(extent)
    inputs = {name: rng.normal(size=(3, extent)).astype("float32") for name in "ri"}
    inputs["r"][1, extent // 2] = np.inf
    type_ = f"Tensor[(3, {extent}), float32]"
    flag = ", inverse=True" if inverse else ""
    for expected, actual in both(f"def @main(%r: {type_}, %i: {type_}) {{ dft(%r, %i{flag}) }}", inputs):
        assert np.isnan(expected[1]).all() and np.isfinite(expected[[0, 2]]).all()
        close(expected, actual, 2e-6)


@pytest.mark.parametrize("dtype, tolerance", [("float16", 2e-3), ("float64", 1e-13)])
def test_transforms_of_other_floats(dtype: str, tolerance: float) -> None:
    rng = np.random.default_rng(0)
    inputs = {name: rng.normal(size=(2, 2, 60)).astype(dtype) for name in "ri"}
    type_ = f"Tensor[(2, 2, 60), {dtype}]"
    for expected, actual in both(f"def @main(%r: {type_}, %i: {type_}) {{ dft(%r, %i) }}", inputs):
        close(expected, actual, tolerance)


@pytest.mark.parametrize("length, n_fft", [(13, 13), (48, 64), (96, 96), (128, 128), (64, 200)])
@pytest.mark.parametrize("onesided", [False, True])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_short_time_transforms(length: int, n_fft: int, onesided: bool, batch: tuple[int, ...]) -> None:
    rng = np.random.default_rng(length)
    inputs = {"x": rng.normal(size=(*batch, 500)).astype("float32"), "w": rng.random(length).astype("float32")}
    inputs["x"][..., 285] = np.nan
    shape = ", ".join(map(str, inputs["x"].shape)) + ("," if not batch else "")
    attributes = f"n_fft={n_fft}, hop_length=40, win_length={length}, normalized={not onesided}, onesided={onesided}"
    text = (
        f"def @main(%x: Tensor[({shape}), float32], %w: Tensor[({length}), float32]) {{ stft(%x, %w, {attributes}) }}"
    )
    ((expected, actual),) = both(text, inputs)
    assert np.isnan(expected).any() and np.isfinite(expected).any()
    close(expected, actual, 2e-6)


def test_steps_multiply_to_the_length() -> None:
    for extent in range(1, 600):
        p, q = factors(extent)
        assert p * q == extent
    assert factors(768) == (32, 24) and factors(97) == (97, 1)


def test_passes_multiply_to_the_length() -> None:
    for extent in range(1, 1200):
        passes = passes_of(extent)
        if passes is None:
            assert extent < 16 or any(extent % p == 0 for p in (11, 13, 17, 19)) or max(factors(extent)) > 19
            continue
        of_both = (*passes.along_samples, *passes.along_frequencies)
        assert math.prod(of_both) == extent and max(of_both) <= 8
    assert passes_of(1024) == Passes((4, 4), (8, 8)) and passes_of(1000) == Passes((5, 5, 5), (8,))


@pytest.mark.parametrize("extent", [2, 3, 4, 5, 6, 7, 8, 9, 12, 25])
@pytest.mark.parametrize("inverse", [False, True])
def test_butterflies(extent: int, inverse: bool) -> None:
    rng = np.random.default_rng(extent)
    signal = rng.normal(size=extent) + 1j * rng.normal(size=extent)
    samples = [Complex(*(Signed(te.const(float(part), "float64")) for part in (v.real, v.imag))) for v in signal]
    expected = np.fft.ifft(signal) * extent if inverse else np.fft.fft(signal)
    for x, y in zip(transform(samples, inverse), expected, strict=True):
        parts = [-s.formula.value if s.is_negative else s.formula.value for s in (x.real, x.imaginary)]
        assert abs(complex(*parts) - y) < 1e-12


def test_lengths_that_are_large_primes_take_little_memory() -> None:
    """Their waves in a table would be four for every pair of samples."""
    rng = np.random.default_rng(0)
    inputs = {name: rng.normal(size=(1, 2053)).astype("float32") for name in "ri"}
    type_ = "Tensor[(1, 2053), float32]"
    for expected, actual in both(f"def @main(%r: {type_}, %i: {type_}) {{ dft(%r, %i) }}", inputs):
        close(expected, actual, 5e-6)
    module = irtool.infer_types(irtool.parse(f"{HEADER}def @main(%r: {type_}, %i: {type_}) {{ dft(%r, %i) }}"))
    assert irtool.build(module, cache=False).report["arena_bytes"] < 1 << 17

    inputs = {"x": rng.normal(size=9000).astype("float32"), "w": rng.random(4093).astype("float32")}
    attributes = "n_fft=4093, hop_length=4000, win_length=4093, normalized=False, onesided=True"
    text = f"def @main(%x: Tensor[(9000,), float32], %w: Tensor[(4093,), float32]) {{ stft(%x, %w, {attributes}) }}"
    ((expected, actual),) = both(text, inputs)
    close(expected, actual, 5e-6)
