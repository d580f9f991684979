"""Values of Relay programs as Python holds them: arrays, and tuples of values."""

from __future__ import annotations

from typing import Any


def value_leaves(value: Any) -> list[Any]:
    """The leaves of a tuple (or list), left to right; the value itself if it is no tuple."""
    result, stack = [], [value]
    while stack:
        v = stack.pop()
        if isinstance(v, tuple | list):
            stack.extend(reversed(v))
        else:
            result.append(v)
    return result
