"""Numbers and strings as in text.

`1`, `2i64`, `3i16` are integers of 32, 64 and 16 bits (an integer without suffix that 32 bits do not hold has 64); `1f`,
`2.5f64`, `3f16`, `inff`, `nanf` are floats. Functions raise ValueError with a sentence where the text is no such number or its
type cannot hold it.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from ..ir import Int64

if TYPE_CHECKING:
    import numpy as np

_INTEGER = re.compile(r"(\d+)(?:i(\d*))?")
_FLOAT = re.compile(r"(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|inf|nan)(?:f(\d*))?")
_GREATEST = {"16": 65504.0, "32": 3.4028235e38, "64": math.inf}
"""The greatest literal of each number of bits: the shortest digits that are read back as the greatest float. Those of 32 bits stand for a larger
number than the float itself, 0x1.fffffep127."""
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}(?:\\x[0-9a-fA-F]{2})*|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPED = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "0": "\0",
    '"': '"',
    "'": "'",
    "\\": "\\",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
}


def read_number(text: str) -> tuple[int | float, str]:
    """The value and its dtype. `text` may start with `-`."""
    digits = text.lstrip("-")
    negative = (len(text) - len(digits)) % 2 == 1
    match = _INTEGER.fullmatch(digits)
    if match is not None:
        return _read_integer(match, negative)
    match = _FLOAT.fullmatch(digits)
    if match is None:
        raise ValueError(f"{_short(text)} is not a number")
    bits = match[2] or "32"
    if bits not in _GREATEST:
        raise ValueError(f"{_short(text)}: floats have 16, 32 or 64 bits, not {_short(bits)}")
    value = float(match[1])
    if match[1] != "inf" and (value > _GREATEST[bits] or math.isinf(value)):
        raise ValueError(f"{_short(text)} does not fit in float{bits}")
    return (-value if negative else value), f"float{bits}"


def _read_integer(match: re.Match[str], negative: bool) -> tuple[int, str]:
    suffix = match[2]
    if suffix not in (None, "", "16", "32", "64"):
        raise ValueError(f"{_short(match[0])}: integers have 16, 32 or 64 bits, not {_short(suffix)}")
    value = int(match[1]) if len(match[1]) <= 4000 else 1 << 64
    value = -value if negative else value
    bits = int(suffix or 32)
    if suffix is None and not -(1 << 31) <= value < 1 << 31:
        bits = 64
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(f"{'-' if negative else ''}{_short(match[0])} does not fit in int{bits}")
    return value, f"int{bits}"


def read_scalar(text: str) -> np.ndarray:
    """The number as a tensor of rank 0 that nobody may write to."""
    import numpy as np

    value, dtype = read_number(text)
    array = np.array(value, dtype)
    array.flags.writeable = False
    return array


def read_attribute_number(text: str) -> int | float:
    """The number for an attribute: an int (`Int64` if it has 64 bits) or a float."""
    value, dtype = read_number(text)
    return Int64(value) if dtype == "int64" else value


def read_string(text: str) -> str:
    r"""The characters between the quotes. `\n`, `\"`, `\x41`, `\u00e9` … are escapes; a backslash before another character stays.

    `\xC3\xA9` are the bytes of a character in UTF-8, as TVM writes it; bytes that are no UTF-8 are kept as surrogates.
    """
    inner = text[1:-1]
    if "\\" not in inner:
        return inner
    return _ESCAPE.sub(_unescape, inner)


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] == "x" and len(code) > 1:
        return bytes.fromhex(code.replace("\\x", "")[1:]).decode("utf-8", "surrogateescape")
    if len(code) > 1:
        try:
            character = chr(int(code[1:], 16))
        except ValueError:
            return match[0]
        return match[0] if "\ud800" <= character <= "\udfff" else character  # half of a surrogate pair is no character
    return _ESCAPED.get(code, match[0])


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
