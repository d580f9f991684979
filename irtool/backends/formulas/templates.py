"""Templates of functions with open words: `$name`, which a family fills in; `vector_math` fills in `{t}`."""

from __future__ import annotations

from string import Template


def fill(text: str, /, **values: str) -> str:
    """The text with its words filled in. Raises KeyError for a missing word."""
    return Template(text).substitute(values)
