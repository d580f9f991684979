"""The dtypes and their names, in one place.

Booleans; signed and unsigned integers of 1 to 64 bits; floats of 8, 16, 32 and 64 bits and `bfloat16`; `handle`, a pointer; and
vectors of them, `float32x4`. `custom[NAME]BITS` is a data type of TVM's registry of them: texts with one are read, checked
and printed, but nothing can be computed in it, since its meaning is code that a text does not hold.

The empty name is no dtype: it stands where an attribute leaves its dtype open.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from ..diagnostics import IrError

if TYPE_CHECKING:
    import numpy as np

_DTYPE = re.compile(r"(bool|handle|(?:u?int|float|bfloat)(\d*))(?:x(\d+))?", re.ASCII)
_CUSTOM = re.compile(r"custom\[[A-Za-z_]\w*\]([1-9]\d{0,2})(?:x([1-9]\d{0,4}))?", re.ASCII)
_BITS = {"int": range(1, 65), "uint": range(1, 65), "float": (8, 16, 32, 64), "bfloat": (16,)}
_MOST_LANES = 65535


@cache
def read_dtype(name: str) -> str | None:
    """The full name of a dtype (`int` is `int32`, `uint1` is `bool`), or None if `name` is not one."""
    match = _DTYPE.fullmatch(name)
    if match is None:
        return name if _CUSTOM.fullmatch(name) else None
    kind, bits, lanes = match.groups()
    if kind not in ("bool", "handle"):
        kind = kind.rstrip("0123456789")
        width = int(bits) if bits and len(bits) < 4 else 32 if not bits else 0
        if width not in _BITS[kind]:
            return None
        kind = "bool" if (kind, width) == ("uint", 1) else f"{kind}{width}"
    if lanes is None or lanes == "1":
        return kind
    return f"{kind}x{lanes}" if 1 < int(lanes[:6]) <= _MOST_LANES else None


@cache
def is_dtype(name: str) -> bool:
    """True if `name` is the full name of a dtype, in the form of tensor types."""
    return isinstance(name, str) and read_dtype(name) == name


@cache
def numpy_dtype(name: str) -> np.dtype:
    """The numpy type of a dtype name. Raises IrError if numpy has none.

    bfloat16 arrays are numpy arrays of the `ml_dtypes` package, which is an extra: without it, they are an error that names
    the package.
    """
    import numpy as np

    if name == "bfloat16":
        try:
            import ml_dtypes
        except ImportError:
            raise IrError("evaluating bfloat16 needs the package ml_dtypes") from None
        return np.dtype(ml_dtypes.bfloat16)
    if name == "bool" or re.fullmatch(r"u?int(8|16|32|64)|float(16|32|64)", name):
        return np.dtype(name)
    raise IrError(f"{name or 'a void type'} cannot be evaluated: numpy has no such element type")


__all__ = ["is_dtype", "numpy_dtype", "read_dtype"]
