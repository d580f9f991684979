"""Numbers and strings as they stand in text."""

from __future__ import annotations

from typing import Any

_SUFFIX = {
    "int16": "i16",
    "int32": "",
    "int64": "i64",
    "float16": "f16",
    "float32": "f",
    "float64": "f64",
    "bool": "",
}
"""Dtypes whose scalars are written as literals, and the literal's suffix; scalars of other dtypes go to the metadata."""

_ESCAPES = {ord("\\"): "\\\\", ord('"'): '\\"', ord("\t"): "\\t", ord("\r"): "\\r", ord("\n"): "\\n"}


def has_literal(dtype: str) -> bool:
    """True if a scalar of this dtype is written in place."""
    return dtype in _SUFFIX


def scalar_literal(value: Any, dtype: str) -> str:
    """A scalar of a dtype for which `has_literal` holds: `3`, `3i64`, `2.5f`, `True`, `-inff`."""
    if dtype == "bool":
        return "True" if value else "False"
    if dtype.startswith("float"):
        return float_digits(value, dtype) + _SUFFIX[dtype]
    return f"{int(value)}{_SUFFIX[dtype]}"


def float_digits(value: Any, dtype: str = "float64") -> str:
    """The shortest digits that read back to the same value of `dtype`, laid out as C's `%g` does it.

    That is TVM's text wherever six digits say the value exactly.
    """
    if dtype == "float64":
        digits = repr(float(value))
    else:
        import numpy as np

        digits = str(np.dtype(dtype).type(value))
    if digits in ("inf", "-inf", "nan"):
        return digits
    sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    mantissa, _, exponent = digits.partition("e")
    whole, _, fraction = mantissa.partition(".")
    figures = (whole + fraction).lstrip("0")
    if not figures:
        return sign + "0"
    # the value is 0.figures * 10**point
    point = int(exponent or 0) + (
        len(whole.lstrip("0")) if whole.strip("0") else len(fraction.lstrip("0")) - len(fraction)
    )
    figures = figures.rstrip("0")
    power = point - 1
    if power < -4 or power >= max(6, len(figures)):
        rest = "." + figures[1:] if len(figures) > 1 else ""
        return f"{sign}{figures[0]}{rest}e{'-' if power < 0 else '+'}{abs(power):02d}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{figures}"
    if len(figures) <= point:
        return sign + figures + "0" * (point - len(figures))
    return f"{sign}{figures[:point]}.{figures[point:]}"


def string_literal(value: str) -> str:
    r"""A string in double quotes; characters other than printable ASCII are escaped byte by byte (UTF-8), as `\xC3`."""
    if value.isascii() and value.isprintable():
        if '"' not in value and "\\" not in value:
            return f'"{value}"'
        return '"' + value.translate(_ESCAPES) + '"'
    out = []
    for byte in value.encode("utf-8", "surrogateescape"):
        if byte in _ESCAPES:
            out.append(_ESCAPES[byte])
        elif 32 <= byte < 127:
            out.append(chr(byte))
        else:
            out.append(f"\\x{byte:02X}")
    return '"' + "".join(out) + '"'
