"""The reference's erf, expanded around the entries of a table, against that of Python, in double precision."""

import math

import numpy as np

from irtool.ops.erf import erf


def test_erf_is_exact_to_the_last_figures() -> None:
    x = np.concatenate([np.linspace(-6.5, 6.5, 4001), [1e-300, -0.0, 1 / 128, -1 / 128, 40.0, math.inf, -math.inf]])
    expected = np.array([math.erf(v) for v in x])
    assert np.abs(erf(x) - expected).max() < 4e-16
    assert math.isnan(erf(np.array([math.nan]))[0]) and np.signbit(erf(np.array([-0.0]))[0])
