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
