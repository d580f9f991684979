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
        name: what the drawing is called.
        folded: whether repeated blocks, and what is computed from weights, are in nodes of their own, and long edges cut.
    """
    drawing = draw_plainly(module, text, name)
    return fold(drawing) if folded else drawing


def draw_plainly(module: Module, text: str | None = None, name: str = "") -> Drawing:
    """The drawing of a module with each of its operators in the function that it is in."""
    if text is None:
        text = to_text(
            infer_known_types(module)[0], constants="elide"
        )  # constants keep their types, without their values
        module = parse(text, filename=name)
    module, _ = infer_known_types(module)
    return read_drawing(module, text.partition(_SECTION)[0], name).number()


def fold(drawing: Drawing) -> Drawing:
    """Puts what repeats, and what is computed from weights, into nodes of its own, and cuts long edges. Returns the drawing."""
    fold_blocks(fold_prepared(drawing))
    for graph, _ in list(drawing.walk()):
        cut_long_edges(graph)
    return drawing.number()
