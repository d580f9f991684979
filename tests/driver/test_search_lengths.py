"""Searches in rows whose length a run decides, within bounds and without."""

from __future__ import annotations

import numpy as np
import pytest

import irtool

TEXT = """#[version = "0.0.5"]
def @main(%s: Tensor[(3, ?), float32], %v: Tensor[(3, 4), float32]) { searchsorted(%s, %v) }
"""


@pytest.mark.parametrize("extent", ["n<=9", "n"])
@pytest.mark.parametrize("target", ["c", "llvm"])
def test_sorted_rows(extent: str, target: str) -> None:
    module = irtool.parse(TEXT)
    artifact = irtool.build(module, target=target, shapes={"s": [3, extent]})
    for n in (1, 2, 5, 9):
        random = np.random.default_rng(n)
        rows = np.sort(random.random((3, n), "float32"))
        values = random.random((3, 4), "float32")
        want = np.asarray(irtool.evaluate(module, [rows, values]))
        np.testing.assert_array_equal(np.asarray(artifact.run([rows, values])), want)
