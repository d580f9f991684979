"""Texts of functions with words left open: `$name`, which a family fills in; `{t}` is for `vector_math`."""

from __future__ import annotations

from string import Template


def fill(text: str, /, **values: str) -> str:
    """The text with its words. Raises KeyError if one is missing."""
    return Template(text).substitute(values)
