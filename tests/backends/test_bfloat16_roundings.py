"""Numbers rounded to bfloat16, and widened again, in vectors: the bits of the definition for every kind of number."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from tests.backends.bit_patterns import every_kind
from tests.backends.instructions import FLAGS, X86

pytestmark = pytest.mark.usefixtures("keeps_denormals")

LEVELS = {
    "SSE4": ("x86-64-v2", "", ""),
    "AVX2": ("x86-64-v3", "", "avx2"),
    "AVX-512": ("x86-64-v4", "", "avx512bw"),
    "BF16": ("x86-64-v4", "-mavx512bf16", "avx512_bf16"),
}
CAST = """#[version = "0.0.5"]
def @main(%x: Tensor[(4096), float32]) {
  let %0 = cast(%x, dtype="bfloat16");
  (%0, multiply(cast(%0, dtype="float32"), 1f), cast(cast(negative(%x), dtype="bfloat16"), dtype="float32"))
}"""


def rounded(bits: np.ndarray) -> np.ndarray:
    """To nearest even; NaN stay NaN, and become quiet."""
    wide = bits.astype("uint64")
    nearest = (wide + 0x7FFF + ((wide >> 16) & 1)) >> 16
    return np.where(np.isnan(bits.view("float32")), (bits | 0x400000) >> 16, nearest).astype("uint16")


@pytest.mark.skipif(not X86, reason="the levels are those of x86-64")
@pytest.mark.parametrize("level", LEVELS)
def test_all_bits_are_those_of_the_definition(level: str) -> None:
    mcpu, cflags, feature = LEVELS[level]
    if feature and feature not in FLAGS:
        pytest.skip(f"this processor has no {feature}")
    bits = every_kind()
    half, wide, negated = irtool.build(irtool.parse(CAST), mcpu=mcpu, cflags=cflags).run([bits.view("float32")])
    want = rounded(bits)
    np.testing.assert_array_equal(np.asarray(half).view("uint16"), want)
    np.testing.assert_array_equal(np.asarray(negated).view("uint32"), rounded(bits ^ (1 << 31)).astype("uint32") << 16)
    numbers = ~np.isnan(bits.view("float32"))
    np.testing.assert_array_equal(np.asarray(wide).view("uint32")[numbers], (want.astype("uint32") << 16)[numbers])
