"""Flat lists of tensors as nested values, and their conversions between memory and Python."""

from __future__ import annotations

from typing import Any

BITS = {"bfloat16": "uint16", "handle": "int64"}
"""The dtypes in memory of elements that numpy lacks."""


def nested(structure: Any, values: Any) -> Any:
    """Values in the shape of a structure (None: one value; a tuple: a tuple of them)."""
    if structure is None:
        return next(values)
    stack: list[tuple[Any, Any, list[Any]]] = [(structure, iter(structure), [])]
    while True:
        whole, left, done = stack[-1]
        for part in left:
            if part is None:
                done.append(next(values))
            else:
                stack.append((part, iter(part), []))
                break
        else:
            stack.pop()
            constructor = getattr(whole, "constructor", None)
            if constructor is None:
                result: Any = tuple(done)
            else:
                from ..interp.values import Data

                result = Data(constructor, done)
            if not stack:
                return result
            stack[-1][2].append(result)


def flat(structures: Any, values: Any) -> list[Any]:
    """The leaves of values in the shapes of structures, left to right; a value in the place of a leaf is one, even a tuple."""
    result: list[Any] = []
    stack = list(reversed(list(zip(structures, values, strict=True))))
    while stack:
        structure, value = stack.pop()
        if structure is None:
            result.append(value)
        else:
            stack += reversed(list(zip(structure, value, strict=True)))
    return result


def as_dtype(array: Any, dtype: str) -> Any:
    """The array in memory as one of the dtype: of bits, bfloat16."""
    if dtype != "bfloat16":
        return array
    try:
        import ml_dtypes
    except ImportError:
        return array
    return array.view(ml_dtypes.bfloat16)
