"""Rewrites that say they are exact: the same bits on NaN, infinities, zeros of either sign, the largest and least numbers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import irtool
from irtool.ops.conversion import convert
from irtool.passes.simplify.casts import loses_nothing

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = tuple(f"{s}int{n}" for s in ("", "u") for n in (8, 16, 32, 64))
NUMBERS = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -2.5,
    1e-8,
    65504.0,
    -65504.0,
    3.3e38,
    np.inf,
    -np.inf,
    np.nan,
    2049.0,
    16777217.0,
)
INTEGER_NUMBERS = (
    0,
    1,
    127,
    128,
    255,
    256,
    257,
    2047,
    2049,
    32767,
    65535,
    2**24 + 1,
    2**31 - 1,
    2**31,
    2**53 + 1,
    2**63,
)


def values(dtype: str) -> np.ndarray:
    if dtype in FLOATS:
        return convert(np.array(NUMBERS), dtype)
    signs = (1, -1) if dtype.startswith("int") else (1,)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return np.array(sorted({s * v for s in signs for v in INTEGER_NUMBERS if low <= s * v <= high}), dtype)


def assert_same(got: np.ndarray, want: np.ndarray, about: str) -> None:
    """The same values, zeros with their signs; a NaN is any NaN."""
    assert got.dtype == want.dtype, about
    if got.dtype.kind in "biu":
        np.testing.assert_array_equal(got, want, err_msg=about)
        return
    got, want = got.astype("float64"), want.astype("float64")
    np.testing.assert_array_equal(got, want, err_msg=about)
    numbers = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(want)[numbers], err_msg=about)


def test_casts_of_casts_are_joined_where_nothing_is_lost():
    joined = 0
    for source, middle, target in itertools.product((*FLOATS, *INTEGERS), repeat=3):
        if not loses_nothing(source, middle, target):
            continue
        joined += 1
        x = values(source)
        assert_same(convert(x, target), convert(convert(x, middle), target), f"{source} -> {middle} -> {target}")
    assert joined > 300
    assert loses_nothing("int8", "float16", "float32") and loses_nothing("int32", "float64", "int64")
    assert not loses_nothing("int16", "float16", "float32") and not loses_nothing("uint8", "int8", "int32")
    assert not loses_nothing("uint32", "float64", "int32")


IDENTITIES = [
    "add(%x, ZERO)", "add(ZERO, %x)", "add(%x, MINUS)", "subtract(%x, ZERO)", "subtract(%x, MINUS)", "subtract(ZERO, %x)",
    "multiply(%x, ONE)", "multiply(ONE, %x)", "divide(%x, ONE)", "multiply(%x, ZERO)", "add(%x, zeros_like(%x))",
    "subtract(%x, zeros_like(%x))", "multiply(%x, ones_like(%x))", "divide(%x, ones_like(%x))", "add(zeros_like(%x), %x)",
    "add(negative(%x), ZERO)", "maximum(%x, full_like(%x, ONE))", "power(%x, ONE)", "add(%x, full_like(%x, MINUS))",
    "divide(ONE, add(%x, ZERO))", "add(add(%x, BIG), LESS)"
]  # fmt: skip


def module_of(dtype: str, texts) -> irtool.Module:
    numbers = {"ZERO": 0.0, "MINUS": -0.0, "ONE": 1.0, "BIG": 1024.0, "LESS": -1024.0}
    lines = []
    for text in texts:
        for name, number in numbers.items():
            text = text.replace(name, f'cast({number}f, dtype="{dtype}")')
        lines.append(text)
    count = len(values(dtype))
    body = ",\n  ".join(lines)
    text = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[({count}), {dtype}]) {{\n  ({body})\n}}\n'
    return irtool.run_passes(irtool.parse(text), "InferType,FoldConstant")


@pytest.mark.parametrize("dtype", [*FLOATS, "int32", "uint8"])
@pytest.mark.parametrize(
    "passes",
    ["SimplifyExpr", "SimplifyExpr,FoldConstant,SimplifyExpr,FuseOps", "CanonicalizeOps,SimplifyExpr,CanonicalizeCast"],
)
def test_identities_of_arithmetic(dtype, passes):
    module, x = module_of(dtype, IDENTITIES), values(dtype)
    expected = irtool.evaluate(module, [x])
    actual = irtool.evaluate(irtool.run_passes(module, passes), [x])
    for text, g, w in zip(IDENTITIES, actual, expected, strict=True):
        assert_same(g, w, f"{dtype}: {text}")


def test_constants_whose_sum_overflows_stay_apart():
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(1), float16]) { add(add(%x, 40000f16), 40000f16) }'
    module = irtool.run_passes(irtool.parse(text), "SimplifyExpr")
    assert irtool.evaluate(module, [np.array([-60000.0], "float16")]).tolist() == [20000.0]


@pytest.mark.parametrize("target", ["float32", "bfloat16", "int32", "int64"])
def test_casts_by_way_of_other_dtypes(target):
    sources = ("int32", "int64", "uint32", "float64", "float16")
    for source in sources:
        x = values(source)
        chains = [f'cast(cast(%x, dtype="{m}"), dtype="{target}")' for m in (*FLOATS, "int16", "uint8")]
        text = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[({len(x)}), {source}]) {{ ({", ".join(chains)}) }}'
        module = irtool.infer_types(irtool.parse(text))
        got = irtool.evaluate(irtool.run_passes(module, "SimplifyExpr"), [x])
        for about, g, w in zip(chains, got, irtool.evaluate(module, [x]), strict=True):
            assert_same(g, w, f"{source}: {about}")


@pytest.mark.parametrize("scale", [0.5, -0.5, 0.0, 1e-40])
@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_positions_of_dequantized_numbers(scale, dtype):
    x = values(dtype)
    real = f"qnn.dequantize(%x, {scale}f, 1)"
    parts = [f"argmax({real})", f"argmin({real})", f'argsort({real}, dtype="int32")']
    text = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[({len(x)}), {dtype}]) {{ ({", ".join(parts)}) }}'
    module = irtool.infer_types(irtool.parse(text))
    got = irtool.evaluate(irtool.run_passes(module, "SimplifyExpr"), [x])
    for about, g, w in zip(parts, got, irtool.evaluate(module, [x]), strict=True):
        np.testing.assert_array_equal(g, w, err_msg=about)
