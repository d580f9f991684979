"""The kinds of attributes that parameters say, for operators of which ONNX has no definition."""

from __future__ import annotations

from typing import Any

from .value import Value

_KINDS: dict[str, type] = {"int": int, "float": float, "str": str, "Value": Value}


def is_of_kind(value: Any, annotation: Any) -> bool:
    """True if an attribute's value is of the kind that a parameter's annotation says: `int`, `float | None`, `tuple[int, ...]`.

    What it says otherwise takes any value.
    """
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    kind = text.removesuffix(" | None")
    for many in ("tuple[", "Sequence["):
        if kind.startswith(many):
            element = _KINDS.get(kind[len(many) :].removesuffix("]").removesuffix(", ..."))
            return isinstance(value, tuple) and (
                element is None or all(issubclass(t, element) for t in set(map(type, value)))
            )
    return kind not in _KINDS or isinstance(value, _KINDS[kind])
