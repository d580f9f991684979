"""Running sums: bounded errors, one result bit for bit from interpreter and C, numpy's signs of zeros, 16-bit floats in float32."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.ops.conversion import convert
from irtool.ops.running_sums import BLOCK, running_sum

pytestmark = [pytest.mark.promise("compiled"), pytest.mark.usefixtures("quick_compiles")]


def ways(text: str, inputs: list[np.ndarray]) -> list[tuple[np.ndarray, ...]]:
    module = irtool.infer_types(irtool.parse(f'#[version = "0.0.5"]\ndef @main{text}'))
    return [irtool.evaluate(module, inputs), irtool.build(module, opt_level=3).run(inputs)]


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a), np.signbit(b))


LONG = 2_200_000
"""Ones, and a half: float32 holds no sum above 2^24 to that digit. Three levels of blocks."""


def test_long_sums_keep_their_digits() -> None:
    rng = np.random.default_rng(0)
    x, y = np.full(LONG, 1.1, "float32"), rng.standard_normal((2, 5000, 2))
    calls = "cumsum(%x, axis=0), cumsum(%x, axis=0, exclusive=True), cumsum(%y, axis=1), cumsum(%y, axis=-2, exclusive=True), cumsum(%y)"
    text = f"(%x: Tensor[({LONG}), float32], %y: Tensor[(2, 5000, 2), float64]) {{ ({calls}) }}"
    interpreted, compiled = ways(text, [x, y])
    exact = np.cumsum(x, dtype="longdouble")
    bound = 2 * BLOCK * np.finfo("float32").eps * exact
    before, wide = np.concatenate([[0], exact[:-1]]), y.astype("longdouble")
    assert (np.abs(interpreted[0] - exact) <= bound).all()
    assert (np.abs(interpreted[1] - before) <= bound).all()
    assert np.abs(np.cumsum(x, dtype="float32") - exact)[-1] > bound[-1], "the bound tells nothing"
    for got, want in (
        (interpreted[2], np.cumsum(wide, 1)),
        (interpreted[3], np.cumsum(wide, 1) - wide),
        (interpreted[4], np.cumsum(wide)),
    ):
        np.testing.assert_allclose(got, want.astype("float64"), rtol=0, atol=1e-11)
    for a, b in zip(interpreted, compiled, strict=True):
        assert same_bits(a, b)


@pytest.mark.parametrize("extent", [4096, 4097, BLOCK * 9, BLOCK * 9 + 1])
def test_the_same_at_ends_of_blocks(extent: int) -> None:
    """An exclusive sum is the inclusive one of the element before; whole numbers are exact whatever the blocks."""
    x = np.random.default_rng(extent).integers(-9, 9, (2, extent)).astype("float32")
    np.testing.assert_array_equal(running_sum(x), np.cumsum(x, axis=1))
    np.testing.assert_array_equal(running_sum(x, exclusive=True)[:, 1:], np.cumsum(x, axis=1)[:, :-1])


def test_signs_of_zeros_and_short_dtypes() -> None:
    """Sums of -0 alone are -0, as numpy's running sums are; none at all is 0. NaN and infinity stay from where they are."""
    x = np.array([-0.0, -0.0, 0.0, -0.0, 1.0, np.inf, 1.0, -np.inf, 2.0], "float32")
    h = convert(np.full((3, 3000), 1.0), "bfloat16")
    calls = ", ".join(
        f"{name}({v}, axis={axis}{more})"
        for name in ("cumsum", "cumprod")
        for v, axis in (("%x", 0), ("%h", 1), ("%e", 1))
        for more in ("", ", exclusive=True")
    )
    params = "%x: Tensor[(9), float32], %h: Tensor[(3, 3000), bfloat16], %e: Tensor[(2, 0), float32]"
    interpreted, compiled = ways(f"({params}) {{ ({calls}) }}", [x, h, np.zeros((2, 0), "float32")])
    with np.errstate(all="ignore"):
        assert same_bits(interpreted[0], np.cumsum(x)) and not np.signbit(interpreted[1][0])
    np.testing.assert_array_equal(interpreted[2].astype("float32")[0], convert(np.arange(1.0, 3001), "bfloat16"))
    for a, b in zip(interpreted, compiled, strict=True):
        assert same_bits(a.astype("float32"), b.astype("float32"))


@pytest.mark.parametrize("rows", [(1,), (2,), (3,), (4,), (6,), (3, 8)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_rows_side_by_side_are_sums_of_their_own(rows: tuple[int, ...], dtype: str) -> None:
    x = (np.random.default_rng(len(rows)).integers(-4, 5, (*rows, 700)) / 4).astype(dtype)
    shape = ", ".join(map(str, x.shape))
    calls = "cumsum(%x, axis=-1), cumsum(%x, axis=-1, exclusive=True), cumprod(%x, axis=-1, exclusive=True), cumsum(%x)"
    for a, b in zip(*ways(f"(%x: Tensor[({shape}), {dtype}]) {{ ({calls}) }}", [x]), strict=True):
        assert same_bits(a, b)
