"""Numbers and strings: they read back exactly, and are laid out as TVM lays them out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irtool.printer.literals import float_digits, scalar_literal, string_literal


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (0.1, "0.1"),
        (2.5, "2.5"),
        (100.0, "100"),
        (999999.0, "999999"),
        (1e6, "1e+06"),
        (1234567.0, "1234567"),
        (1e11, "1e+11"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (1.5e-7, "1.5e-07"),
        (1e300, "1e+300"),
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
        (float("nan"), "nan"),
    ],
)
def test_layout(value, text):
    assert float_digits(value) == text


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (0.1, "float32", "0.1f"),
        (3.4028234663852886e38, "float32", "3.4028235e+38f"),
        (0.1, "float16", "0.1f16"),
        (0.1, "float64", "0.1f64"),
        (7, "int32", "7"),
        (-7, "int64", "-7i64"),
        (7, "int16", "7i16"),
        (True, "bool", "True"),
        (float("-inf"), "float32", "-inff"),
    ],
)
def test_scalars(value, dtype, text):
    assert scalar_literal(np.dtype(dtype).type(value), dtype) == text


@given(st.floats(allow_nan=False), st.sampled_from(["float16", "float32", "float64"]))
def test_digits_read_back_and_are_the_shortest(value, dtype):
    with np.errstate(over="ignore"):
        scalar = np.dtype(dtype).type(value)
    text = float_digits(scalar, dtype)
    with np.errstate(over="ignore"):
        assert np.dtype(dtype).type(text) == scalar
    if np.isfinite(scalar) and scalar:
        figures = text.lstrip("-").partition("e")[0].replace(".", "").strip("0")
        shortest = np.format_float_scientific(scalar, unique=True, trim="-").lstrip("-").partition("e")[0]
        assert len(figures) == len(shortest.replace(".", "").strip("0"))


@given(st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False))
def test_six_digits_are_written_as_c_does(value):
    rounded = float(f"{value:.6g}")
    assert float_digits(rounded) == f"{rounded:.6g}"


@given(st.text())
def test_strings_are_escaped_and_ascii(value):
    text = string_literal(value)
    assert text.isascii()
    assert text.isprintable()
    inner = text[1:-1].replace(r"\\", "\x00").replace(r"\"", "\x00")
    assert '"' not in inner


def test_escapes():
    assert string_literal('a"b\\c\n\t\r') == r'"a\"b\\c\n\t\r"'
    assert string_literal("é\x01") == r'"\xC3\xA9\x01"'
