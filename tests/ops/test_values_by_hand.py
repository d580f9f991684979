"""What some references return, beside a formula that is written another way: numpy's own transforms, or one element at a time."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import irtool
from irtool.infer import infer_expr
from irtool.ir import TensorType, Var
from irtool.ops import call, operators
from irtool.ops.base import RelationError
from irtool.ops.typical import Below
from irtool.ops.waves import waves


def run(name, *inputs, **attributes):
    return operators.get(name).make(attributes).evaluate(*inputs)


def drawn(*shape, dtype="float32"):
    return np.random.default_rng(len(shape)).normal(size=shape).astype(dtype)


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_becomes_space(mode: str) -> None:
    block, depth = 2, 3
    x = drawn(2, block * block * depth, 3, 2)
    got = run("nn.depth_to_space", x, block_size=block, mode=mode)
    assert got.shape == (2, depth, 6, 4)
    for n, c, i, j in itertools.product(*map(range, got.shape)):
        pixel = (i % block) * block + j % block
        channel = pixel * depth + c if mode == "DCR" else c * block * block + pixel
        assert got[n, c, i, j] == x[n, channel, i // block, j // block]


@pytest.mark.parametrize("extent", [1, 2, 3, 4, 6, 12])
def test_waves_are_exact_at_quarters(extent: int) -> None:
    steps = np.arange(-extent, 2 * extent)
    cosine, sine = waves(steps, extent)
    np.testing.assert_allclose(cosine + 1j * sine, np.exp(2j * np.pi * steps / extent), atol=1e-12)
    for k, c, s in zip(steps % extent, cosine, sine, strict=True):
        assert (c == 0) == (4 * k in (extent, 3 * extent)) and (s == 0) == (2 * k in (0, extent))


def test_transforms_are_numpys() -> None:
    x = drawn(2, 6)
    real, imaginary = run("dft", x, np.zeros_like(x), inverse=False)
    np.testing.assert_allclose(real + 1j * imaginary, np.fft.fft(x), atol=1e-4)
    back, nothing = run("dft", real, imaginary, inverse=True)
    np.testing.assert_allclose(back, x, atol=1e-5)
    np.testing.assert_allclose(nothing, 0 * x, atol=1e-5)


@pytest.mark.parametrize("onesided", [False, True])
def test_short_time_transforms_are_transforms_of_pieces(onesided: bool) -> None:
    x, window = drawn(2, 11), np.abs(drawn(4))
    attributes = {"n_fft": 4, "hop_length": 3, "win_length": 4, "normalized": False, "onesided": onesided}
    got = run("stft", x, window, **attributes)
    pieces = np.stack([x[:, begin : begin + 4] * window for begin in (0, 3, 6)], axis=1)
    want = (np.fft.rfft if onesided else np.fft.fft)(pieces).transpose(0, 2, 1)
    np.testing.assert_allclose(got[..., 0] + 1j * got[..., 1], want, atol=1e-4)
    operands = [Var("x", TensorType(x.shape, "float32")), Var("w", TensorType(window.shape, "float32"))]
    assert infer_expr(call("stft", *operands, **attributes)).checked_type == TensorType(got.shape, "float32")
    with pytest.raises((RelationError, irtool.IrError), match="win_length"):
        infer_expr(call("stft", *operands, **{**attributes, "win_length": 5}))


@pytest.mark.parametrize("batch", [0, 1, 2])
def test_batches_of_places(batch: int) -> None:
    x = drawn(2, 3, 4)
    if batch == 0:
        indices = np.array([[1, 0, 1], [2, 1, 0]])
        want = x[indices[0], indices[1]]
    elif batch == 1:
        indices = np.array([[[2, 0, 1], [1, 1, 0]]])
        want = np.stack([x[b, indices[0, b]] for b in range(2)])
    else:
        indices = np.array([[[3, 0, 1], [2, 1, 0]]])
        want = np.array([[x[b, c, indices[0, b, c]] for c in range(3)] for b in range(2)])
    np.testing.assert_array_equal(run("gather_nd", x, indices, batch_dims=batch), want)


def test_repeats_stand_side_by_side() -> None:
    x = np.array([[1, 2], [3, 4]])
    np.testing.assert_array_equal(run("repeat", x, repeats=2, axis=1), [[1, 1, 2, 2], [3, 3, 4, 4]])
    np.testing.assert_array_equal(run("repeat", x, repeats=2, axis=0), [[1, 2], [1, 2], [3, 4], [3, 4]])


@pytest.mark.parametrize(
    ("indices", "values", "shape", "want"),
    [
        (np.int32(2), np.float32(5), (4,), [9, 9, 5, 9]),
        (np.array([0, 3], "int32"), np.array([1, 2], "float32"), (4,), [1, 9, 9, 2]),
        (np.array([[0, 1], [1, 0]], "int32"), np.array([1, 2], "float32"), (2, 2), [[9, 1], [2, 9]]),
        (np.array([[0, 2], [1, 0]], "int32"), np.array([1, 2], "float32"), (2, 2), [[9, 9], [2, 9]]),
    ],
)
def test_sparse_values_in_their_places(indices, values, shape, want) -> None:
    got = run("sparse_to_dense", np.asarray(indices), np.asarray(values), np.float32(9), output_shape=shape)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_losses_of_places(reduction: str) -> None:
    p, weights = drawn(2, 3, 2), np.array([1, 2, 4], "float32")
    targets = np.array([[0, 2], [1, 2]])
    losses = np.zeros((2, 2))
    counted = 0.0
    for n, i in itertools.product(range(2), range(2)):
        if targets[n, i] != 1:
            losses[n, i] = -p[n, targets[n, i], i] * weights[targets[n, i]]
            counted += weights[targets[n, i]]
    want = {"none": losses, "sum": losses.sum(), "mean": losses.sum() / counted}[reduction]
    got = run("nn.nll_loss", p, targets, weights, reduction=reduction, ignore_index=1)
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_the_largest_need_no_dtype_for_their_places() -> None:
    np.testing.assert_array_equal(run("topk", np.array([3, 1, 2]), k=2, ret_type="values"), [3, 2])
    values, places = run("topk", np.array([3, 1, 2]), k=2, ret_type="both", dtype="int64")
    np.testing.assert_array_equal(values, [3, 2])
    np.testing.assert_array_equal(places, [0, 2])


@pytest.mark.parametrize(
    ("size", "dtype", "most"),
    [(5, "int32", 5), (1000, "int8", 128), (1000, "uint8", 256), (1 << 30, "float32", 1 << 24), (0, "int64", 1)],
)
def test_typical_indices_are_below_what_there_is(size: int, dtype: str, most: int) -> None:
    indices = Below(size).draw(np.random.RandomState(0), (20_000,), dtype)
    assert indices.min() >= 0 and indices.max() < most
    assert indices.max() > most * 0.99 - 1, "all of them may come"
