"""Values as Python writes them."""

from __future__ import annotations

import math
from typing import Any


class Text(str):
    """An expression of TVMScript: written as it is, where other strings are quoted."""

    __slots__ = ()


def literal(value: Any) -> str:
    """The Python expression of a value: numbers, strings, None, lists and tuples of these, and `Text`."""
    if isinstance(value, Text):
        return value
    if isinstance(value, bool) or value is None:
        return repr(value)
    if isinstance(value, int):
        return repr(int(value))  # dimensions are of classes of their own
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else f'float("{float(value)}")'
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, tuple):
        return parenthesized([literal(v) for v in value])
    if isinstance(value, str):
        import json

        return json.dumps(value)
    raise TypeError(f"no literal for {type(value).__name__}")


def parenthesized(parts: list[str]) -> str:
    """The tuple of these."""
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def invocation(function: str, *args: Any, **options: Any) -> Text:
    """`function(arg, …, option=value, …)`."""
    inside = [*map(literal, args), *(f"{n}={literal(v)}" for n, v in options.items())]
    return Text(f"{function}({', '.join(inside)})")
