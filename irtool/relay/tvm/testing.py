"""`tvm.testing`: comparing arrays."""

from __future__ import annotations

from typing import Any


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7) -> None:
    """Raises AssertionError if two arrays differ by more than that, relative or absolute."""
    import numpy as np

    np.testing.assert_allclose(np.asarray(actual), np.asarray(desired), rtol=rtol, atol=atol)
