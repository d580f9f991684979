"""The Relay of tutorials and papers, which leaves out parts that the reader can guess.

A text without version line is read with this in mind: bindings end with their lines, and operators may have their everyday
names (`mul`, `conv2d`). So is a text that has a version line and no `;`, if it cannot be read otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..ops.base import operators

_SHORT = {
    "mul": "multiply",
    "sub": "subtract",
    "div": "divide",
    "neg": "negative",
    "pow": "power",
    "eq": "equal",
    "ne": "not_equal",
    "neq": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "max": "maximum",
    "min": "minimum",
    "concat": "concatenate",
}
_HOMES = ("nn", "image", "vision", "qnn")
_SEMICOLON = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\]|\\.)*"|;', re.DOTALL)
_VERSION = re.compile(r"#\[\s*version\s*=\s*\"?v?([^\]\"]*)\"?\s*\]|v(.*)")


def full_name(name: str) -> str | None:
    """The full name of the operator that a tutorial calls `name`, or None."""
    for candidate in (_SHORT.get(name, name), *[f"{home}.{name}" for home in _HOMES]):
        if operators.find(candidate) is not None:
            return candidate
    return None


def read_version(word: str) -> str:
    """The version in `#[version = "0.0.5"]`, or in the `v0.0.4` of older texts."""
    match = _VERSION.fullmatch(word)
    return (match[1] or match[2] or "").strip() if match is not None else ""


def lines_bind(text: str, parts: Iterable[tuple[int, int]]) -> bool:
    """True for a text whose bindings end with their lines: these parts of it have no semicolon but in comments and strings."""
    if ";" not in text:
        return True
    return not any(m[0] == ";" for start, end in parts for m in _SEMICOLON.finditer(text, start, end))
