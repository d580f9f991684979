"""Fixed-point products by high halves of 64-bit products, on processors with little memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(64, 8), int32], %m: Tensor[(8), int64], %r: Tensor[(8), int64], %s: Tensor[(8), int64]) {
  %0 = add(multiply(cast(%x, dtype="int64"), %m), %r);
  cast(right_shift(%0, %s), dtype="int32")
}
"""
LARGEST = (1 << 31) - 1


def numbers() -> Any:
    """Numbers of all sizes, with the ends of their range."""
    g = np.random.default_rng(0)
    x = (g.integers(-(1 << 31), 1 << 31, (64, 8)) >> g.integers(0, 31, (64, 8))).astype("int32")
    x[:4] = np.array([-(1 << 31), LARGEST, 0, -1], "int32")[:, None]
    return x


def constants(first: int, last: int, factor: int = LARGEST, rounding: int | None = None) -> dict[str, Any]:
    """Shifts from first to last with the rounding terms of halves, unless another one is given."""
    s = np.linspace(first, last, 8).astype("int64")
    r = np.int64(1) << (s - 1)
    if rounding is not None:
        r[:] = rounding
    m = np.array([factor, 1, 0, 1 << 30, 1450885904, 3, LARGEST - 1, 12345], "int64")
    return {"m": m, "r": r, "s": s}


CASES = {
    "usual": (constants(33, 40), True),
    "all shifts": (constants(33, 63), True),
    "rounded down": (constants(32, 62, rounding=0), True),
    "a large term": (constants(40, 63, rounding=1 << 62), True),
    "a short shift": (constants(31, 40), False),
    "a term in the low half": (constants(32, 40), False),
    "a negative factor": (constants(33, 40, factor=-5), False),
    "a factor of 32 bits": (constants(33, 40, factor=1 << 31), False),
}


@pytest.mark.parametrize("target", ["c{stack_bytes=2048}", "c{stack_bytes=2048,vector=none}", "llvm{stack_bytes=2048}"])
@pytest.mark.parametrize("case", CASES)
def test_results_are_exact(case: str, target: str) -> None:
    arrays, _ = CASES[case]
    x = numbers()
    with np.errstate(over="ignore"):
        expected = ((x.astype("int64") * arrays["m"] + arrays["r"]) >> arrays["s"]).astype("int32")
    artifact = irtool.build(irtool.parse(TEXT), arrays, target=target)
    np.testing.assert_array_equal(artifact.run([x]), expected)


@pytest.mark.parametrize("case", CASES)
def test_constants_decide(case: str, tmp_path: Path) -> None:
    arrays, high = CASES[case]
    irtool.build(irtool.parse(TEXT), arrays, target="c{stack_bytes=2048,vector=none}", emit="tir", out_dir=tmp_path)
    (text,) = (f.read_text() for f in tmp_path.iterdir())
    assert ("constant(int64[" not in text) == high


LITERALS = {
    "usual": (1, 1450885904, 1 << 30, 31),
    "no left shift": (0, LARGEST, 1 << 30, 31),
    "a short shift": (0, 3 << 20, 1 << 9, 10),
    "a long one": (4, LARGEST, 1 << 50, 51),
    "another term": (2, 12345678, 3 << 28, 40),
    "a term in the low half": (0, 12345678, 5, 40),
    "no term": (1, 12345678, 0, 33),
    "a large left shift": (25, 12345, 1 << 30, 31),
    "a factor of 32 bits": (1, 1 << 31, 1 << 30, 31),
    "all bits": (0, LARGEST, 1 << 61, 62),
}


@pytest.mark.parametrize("target", ["c{stack_bytes=2048}", "c{stack_bytes=2048,vector=none}"])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32"])
def test_products_by_literals_are_exact(dtype: str, target: str) -> None:
    limits = np.iinfo(dtype)
    x = np.random.default_rng(1).integers(limits.min, limits.max, 64, dtype, endpoint=True)
    x[:2] = limits.min, limits.max
    lines, expected = [], []
    for left, factor, rounding, shift in LITERALS.values():
        product = f'multiply(left_shift(cast(cast(%x, dtype="int32"), dtype="int64"), {left}i64), {factor}i64)'
        lines.append(f'cast(right_shift(add({product}, {rounding}i64), {shift}i64), dtype="int32")')
        with np.errstate(over="ignore"):
            expected.append(((((x.astype("int64") << left) * factor) + rounding) >> shift).astype("int32"))
    text = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(64), {dtype}]) {{ ({", ".join(lines)}) }}\n'
    results = irtool.build(irtool.parse(text), target=target).run([x])
    for name, a, b in zip(LITERALS, results, expected, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=name)
