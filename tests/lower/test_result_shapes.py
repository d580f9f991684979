"""Results that share memory with something of another shape."""

from __future__ import annotations

import numpy as np
import pytest

import irtool


@pytest.mark.parametrize(
    "body",
    [
        "reshape(%x, newshape=[6])",
        "(%x, expand_dims(%x, axis=0))",
        "squeeze(reshape(exp(%x), newshape=[1, 3, 2]), axis=[0])",
    ],
)
def test_reshapes_at_the_end(body: str) -> None:
    m = irtool.parse(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 3), float32]) {{ {body} }}')
    x = np.arange(6, dtype="float32").reshape(2, 3)
    got, want = irtool.build(m).run([x]), irtool.evaluate(m, [x])
    if not isinstance(want, tuple):
        got, want = (got,), (want,)
    for g, w in zip(got, want, strict=True):
        assert g.shape == w.shape
        np.testing.assert_allclose(g, w, rtol=1e-5)
