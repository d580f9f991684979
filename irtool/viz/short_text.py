"""Types and sizes in few characters."""

from __future__ import annotations

import re

from ..ir import TensorType, TupleType, Type
from ..ir.show import show_dim, show_type
from ..symbolic_int import bound

_MOST_FIELDS = 3
_LONGEST = 60


def brief_type(t: Type | None) -> str:
    """`64×3×7×7` for a tensor of float32, `1×128 int64` for another; tuples in parentheses."""
    if t is None:
        return ""
    if isinstance(t, TensorType):
        shape = "×".join(show_dim(d) for d in t.shape)
        return shape if shape and t.dtype == "float32" else f"{shape} {t.dtype}".strip()
    if isinstance(t, TupleType) and all(isinstance(f, TensorType) for f in t.fields):
        shown = [brief_type(f) for f in t.fields[:_MOST_FIELDS]]
        return cut(f"({', '.join(shown)}{', …' if len(t.fields) > _MOST_FIELDS else ''})", _LONGEST)
    return cut(show_type(t), _LONGEST)


def type_size(t: Type | None) -> int | None:
    """Bytes of a value; None if they are not known before the program runs."""
    total = 0
    waiting = [t]
    while waiting:
        part = waiting.pop()
        if isinstance(part, TupleType):
            waiting += part.fields
            continue
        if not isinstance(part, TensorType):
            return None
        count = 1
        for d in part.shape:
            if not isinstance(d, int):
                return None
            count *= d
        bits = re.fullmatch(r"[a-z]+(\d+)(?:x(\d+))?", part.dtype)
        total += count * (-(-int(bits[1]) * int(bits[2] or 1) // 8) if bits else 1)
    return total


def brief_size(size: int | None) -> str:
    """Bytes in the largest unit that leaves a number of at least one."""
    if size is None:
        return ""
    amount, unit = float(bound(size)), "B"
    for larger in ("KB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.3g} {unit}" if amount < 999.5 else f"{amount:.0f} {unit}"


def cut(text: str, most: int) -> str:
    """At most so many characters of a text."""
    return text if len(text) <= most else text[: most - 1] + "…"
