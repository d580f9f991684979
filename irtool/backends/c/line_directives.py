"""`#line` directives: debuggers and profilers show the Relay line, or the node of a model, in place of the C of a kernel."""

from __future__ import annotations

from collections.abc import Sequence

from ...tir.program import Place, RunKernel
from .strings import string_content

_HERE = "#line"
"""A line that becomes a directive for the place of the next line in its own file."""


def first_place(uses: Sequence[RunKernel]) -> Place | None:
    """The place of a kernel: that of the first operator of its first use; None if it is unknown."""
    return next((p for use in uses for p in use.places if _line(p)), None)


def point_at(place: Place | None, lines: Sequence[str]) -> list[str]:
    """The lines, which seem to be at this place, each of them, as they are at one line of the source; as they are without a place."""
    if place is None:
        return [*lines]
    file, line = place.at.rsplit(":", 2)[0], _line(place)
    directive = f'#line {line} "{string_content(f"{file}({place.node})" if place.node else file)}"'
    pinned = [word for text in lines for word in ([text] if text[:1] in ("#", "") else [directive, text])]
    return [*pinned, _HERE]


def numbered(text: str, file: str) -> str:
    """The text of a file, with the places of lines behind those that are elsewhere."""
    lines = text.split("\n")
    name = string_content(file)
    return "\n".join(f'#line {n + 2} "{name}"' if line == _HERE else line for n, line in enumerate(lines))


def _line(place: Place) -> int:
    """The line of a place; 0 if it is unknown."""
    words = place.at.rsplit(":", 2)
    return int(words[1]) if len(words) == 3 and words[1].isdigit() else 0
