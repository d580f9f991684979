"""Sizes in drawings, in pixels."""

from __future__ import annotations

from unicodedata import east_asian_width

from .drawing import FAR, INPUT, OUTPUT, Node

TITLE, LINE = 12.5, 10.5
"""Sizes of letters: of titles, of the lines below them."""
_LETTER = 0.60
"""Mean width of a letter, in parts of its size; a little more than that of usual fonts, since the reader's is not known."""
_ROW = 14
_PADDING = 10
_LEAST = 84

ACROSS, DOWN = 26, 44
"""Between nodes of a rank, and between ranks."""
MARGIN = 14
"""Padding around the inner graph of a node."""
HEAD = 30
"""Height of the title of a node with something inside."""


def text_width(text: str, size: float) -> float:
    """Width of a text in letters of a size."""
    wide = sum(east_asian_width(c) in "WF" for c in text)
    return (len(text) + wide) * size * _LETTER


def node_size(n: Node) -> tuple[float, float]:
    """Width and height of a node with nothing shown inside."""
    width = max([text_width(n.label, TITLE), *(text_width(d, LINE) for d in n.details)])
    label = text_width(n.shape, LINE)  # it stands below the node
    if n.kind in (INPUT, OUTPUT, FAR):
        return round(max(width + 2 * _PADDING, label, 56)), 24
    marker = 34 if n.inside else 0  # a sign that opens it, and as much on the other side
    return round(max(width + 2 * _PADDING + marker, label, _LEAST)), 26 + _ROW * len(n.details)
