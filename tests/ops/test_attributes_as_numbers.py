"""Numbers that attributes give, as elements of every dtype: the references have those that generated code has."""

from __future__ import annotations

import math

import numpy as np
import pytest

from irtool import te
from irtool.ops.conversion import convert, number_as
from irtool.tir.dtypes import round_to

pytestmark = pytest.mark.promise("NaN and overflow")

DTYPES = ("bool", *(f"{s}int{n}" for s in ("", "u") for n in (8, 16, 32, 64)), "float16", "float32", "float64")
FLOATS = (
    0.0,
    -0.0,
    0.5,
    -1.0,
    -1.5,
    255.0,
    3e9,
    -3e9,
    1e10,
    1e19,
    -1e19,
    2.0**63,
    1e30,
    1e300,
    math.inf,
    -math.inf,
    math.nan,
)
INTEGERS = (0, 1, -1, 2**31, -(2**31), 2**63 - 1, -(2**63), 2**64, 2**100)


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_number_for_reference_and_code(dtype: str) -> None:
    for value in FLOATS:
        with np.errstate(all="ignore"):
            want = convert(np.float64(value), dtype)
        np.testing.assert_array_equal(number_as(value, dtype), want, err_msg=f"{value}")
        np.testing.assert_array_equal(te.const(value, dtype).value, np.asarray(want).item(), err_msg=f"{value}")
        assert number_as(value, dtype).dtype == dtype


@pytest.mark.parametrize("dtype", [d for d in DTYPES if "int" in d])
def test_integers_wrap(dtype: str) -> None:
    ends = np.iinfo(dtype)
    for value in INTEGERS:
        wrapped = round_to(value, dtype)
        assert ends.min <= wrapped <= ends.max
        assert (wrapped - value) % (1 << ends.bits) == 0
