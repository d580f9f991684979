"""The benchmark of 8-bit and bfloat16 kernels measures them beside the instruction that they are made of."""

from __future__ import annotations

import pytest

from benchmarks.native import Compiled
from benchmarks.short_numbers import KERNELS, KINDS, DotPeak, dense
from irtool.backends.c import C


@pytest.mark.parametrize("name", KINDS)
def test_kernels_have_a_share_of_the_peak(name: str) -> None:
    kind = KINDS[name]
    peak = DotPeak(kind)
    assert peak() > 1e8
    net = Compiled(dense(16, 64, 256)(kind), precision=kind.precision, peak=peak)
    assert net.flops == 2 * 16 * 64 * 256
    timed = net.whole(rounds=3)
    # The peak is that of dot products in vectors, which a tile of 16 × 16 sums is faster than.
    assert 0 < timed.of_peak < (32 if C().compiler.machine().pair_tiles > 1 else 1.5)


def test_kernels_are_of_the_networks_of_the_comparison() -> None:
    texts = [text(KINDS["int8"]) for _, text in KERNELS]
    assert len(set(texts)) == len(texts) and all("uint8" in t and "int8" in t for t in texts)
