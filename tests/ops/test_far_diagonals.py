"""`trilu` with diagonals far outside of the matrix, at the ends of the dtype of `k`."""

from __future__ import annotations

import numpy as np
import pytest

import irtool

pytestmark = [pytest.mark.promise("NaN and overflow"), pytest.mark.robustness("numbers")]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
@pytest.mark.parametrize("upper", [True, False], ids=["upper", "lower"])
def test_far_diagonals(dtype: str, upper: bool) -> None:
    text = f"""#[version = "0.0.5"]
def @main(%x: Tensor[(3, 4), float32], %k: {dtype}) {{ trilu(%x, %k, upper={upper}) }}
"""
    module = irtool.parse(text)
    library = irtool.build(module)
    x = np.arange(1, 13, dtype="float32").reshape(3, 4)
    edges = np.iinfo(dtype)
    for k in {edges.min, edges.min + 1, 0, 1, 3, 4, edges.max - 1, edges.max, *((-3, -2, -1) if edges.min else ())}:
        near = max(-5, min(5, int(k)))
        want = np.triu(x, near) if upper else np.tril(x, near)
        diagonal = np.array(k, dtype)
        assert np.array_equal(irtool.evaluate(module, [x, diagonal]), want), k
        assert np.array_equal(library.run([x, diagonal]), want), k
