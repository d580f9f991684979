"""The ranges of dtypes are numpy's."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from irtool.tir import dtypes

INTEGERS = [f"{s}int{w}" for s in ("", "u") for w in (8, 16, 32, 64)]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(dtype: str) -> None:
    limits = np.iinfo(dtype)
    assert dtypes.int_range(dtype) == (limits.min, limits.max) == (dtypes.lowest(dtype), dtypes.largest(dtype))
    assert dtypes.is_int(dtype) and not dtypes.is_float(dtype)
    assert dtypes.is_unsigned(dtype) == (limits.min == 0)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats(dtype: str) -> None:
    limits = np.finfo(dtype)
    assert (dtypes.lowest(dtype), dtypes.largest(dtype)) == (float(limits.min), float(limits.max))
    assert dtypes.is_float(dtype) and not dtypes.is_int(dtype)


def test_bfloat16() -> None:
    limits = ml_dtypes.finfo("bfloat16")
    assert (dtypes.lowest("bfloat16"), dtypes.largest("bfloat16")) == (float(limits.min), float(limits.max))


@pytest.mark.parametrize("dtype", [*INTEGERS, "float16", "float32", "float64"])
def test_sizes(dtype: str) -> None:
    assert dtypes.itemsize(dtype) == np.dtype(dtype).itemsize and dtypes.bits(dtype) == 8 * dtypes.itemsize(dtype)
