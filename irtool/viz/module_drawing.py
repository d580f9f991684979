"""From a module to the drawing that formats begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..infer import infer_known_types
from ..parser import parse
from ..printer import to_text
from .blocks import fold_blocks
from .layout import cut_long_edges
from .prepared import fold_prepared
from .reading import read_drawing

if TYPE_CHECKING:
    from ..ir import Module
    from .drawing import Drawing

_SECTION = "\n#[metadata]"


def draw_module(module: Module, text: str | None = None, name: str = "", folded: bool = True) -> Drawing:
    """The drawing of a module.

    Args:
        text: the text that the spans of the module are in; without it the module is printed, and what is drawn is that text.
        name: the title of the drawing.
        folded: whether repeated blocks, and computations from weights, are in nodes of their own.
    """
    return simplify(draw_plainly(module, text, name), folded)


def draw_plainly(module: Module, text: str | None = None, name: str = "") -> Drawing:
    """The drawing of a module with each of its operators in the function that it is in."""
    if text is None:
        return draw_text(text_drawn(module), name)
    return read_drawing(infer_known_types(module)[0], shown_lines(text), name).number()


def draw_text(text: str, name: str) -> Drawing:
    """The drawing of the module that a text is of."""
    return draw_plainly(parse(text, filename=name), text, name)


def text_drawn(module: Module) -> str:
    """The text of a module that has none of its own. Constants keep their types, without their values."""
    return to_text(infer_known_types(module)[0], constants="elide")


def shown_lines(text: str) -> str:
    """The part of a text to show beside a drawing: the text before the metadata."""
    return text.partition(_SECTION)[0]


def simplify(drawing: Drawing, folded: bool) -> Drawing:
    """Puts repeated nodes, and those computed from weights, into nodes of their own, if `folded`, and cuts long edges: a layout has
    a place for each rank that an edge passes. Returns the drawing."""
    if folded:
        fold_blocks(fold_prepared(drawing))
    for graph, _ in list(drawing.walk()):
        cut_long_edges(graph)
    return drawing.number()
