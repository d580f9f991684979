"""Bodies of functions of vectors by the instructions of processors, for C's preprocessor to choose from."""

from __future__ import annotations

from collections.abc import Mapping

from ..instructions.listing import choices
from .templates import fill


def by_instructions(function: str, lanes: int, values: Mapping[str, str], plain: str) -> str:
    """The body of a function: for each instruction, in order, the one for compilers that have it; then the plain one.

    `values` fill the texts of instructions; rows have more of them for a number of lanes.
    """
    parts: list[str] = []
    for row, form in choices(function, lanes):
        directive = f"#{'elif' if parts else 'if'} {row.condition(lanes)}"
        parts += [directive, fill(form.c, **values, **row.words.get(lanes, {})).strip("\n")]
    return "\n".join([*parts, "#else", plain, "#endif"]) if parts else plain
