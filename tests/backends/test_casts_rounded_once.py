"""Casts of float64 to 16 bits: half a unit, rounded once, in the interpreter, in vectors and without."""

from fractions import Fraction

import numpy as np
import pytest

import irtool
from irtool.ops.conversion import convert

BITS = {"float16": 11, "bfloat16": 8}


def halfway(dtype: str) -> np.ndarray:
    """Numbers between two of the dtype, and a bit beside the middle, which float32 does not see."""
    rng = np.random.RandomState(0)
    whole = rng.randint(2 ** (BITS[dtype] - 1), 2 ** BITS[dtype], 200) + 0.5
    moved = whole * (1 + rng.choice([0, 1, -1], 200) * 2.0**-45)
    ends = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, -1e300, 65519.99999999999, 65520.0, 1e-300, 0.1, 1.0]
    return np.concatenate([moved * 2.0 ** -BITS[dtype], -moved, ends])


def nearest(x: float, dtype: str) -> Fraction:
    """The nearest number of so many bits, a half to the even one."""
    exact = Fraction(x)
    _, exponent = np.frexp(x)
    unit = Fraction(2) ** (int(exponent) - BITS[dtype])
    return round(exact / unit) * unit


@pytest.mark.parametrize("dtype", list(BITS))
def test_casts_are_rounded_once(dtype):
    x = halfway(dtype)
    text = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[({len(x)}), float64]) {{ cast(%x, dtype="{dtype}") }}'
    module = irtool.infer_types(irtool.parse(text))
    want = np.asarray(convert(x, dtype)).astype("float64")
    for value, got in zip(x[:400], want[:400], strict=True):
        assert Fraction(got) == nearest(value, dtype), value
    ways = [irtool.evaluate(module, [x])]
    ways += [
        irtool.build(module, vector=v, mcpu=m).run([x]) for v, m in ((True, "native"), (True, "none"), ("none", "none"))
    ]
    for got in ways:
        got = np.asarray(got).astype("float64")
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got)[~np.isnan(x)], np.signbit(want)[~np.isnan(x)])


@pytest.mark.parametrize("dtype", list(BITS))
@pytest.mark.parametrize(
    ("mcpu", "lanes"), [("x86-64-v2", 2), ("x86-64-v3", 4), ("x86-64-v4", 8), ("sapphirerapids", 8)]
)
def test_casts_of_doubles_are_vectors(dtype, mcpu, lanes, tmp_path):
    text = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(4, 64), float64]) {{ cast(%x, dtype="{dtype}") }}'
    irtool.build(irtool.infer_types(irtool.parse(text)), mcpu=mcpu, emit="c", name="net", out_dir=tmp_path)
    assert f"irt_vodd_f64x{lanes}(" in (tmp_path / "net.c").read_text(encoding="utf-8")


@pytest.mark.parametrize("dtype", list(BITS))
def test_llvm_rounds_once(dtype):
    pytest.importorskip("llvmlite")
    x = halfway(dtype)
    text = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[({len(x)}), float64]) {{ cast(%x, dtype="{dtype}") }}'
    got = irtool.build(irtool.infer_types(irtool.parse(text)), target="llvm").run([x])
    np.testing.assert_array_equal(np.asarray(got).astype("float64"), np.asarray(convert(x, dtype)).astype("float64"))
