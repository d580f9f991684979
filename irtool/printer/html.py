"""Relay text in colour as HTML, for notebooks."""

from __future__ import annotations

from html import escape
from typing import Any

from .text import text_of

_LONGEST = 200_000
"""Characters of a text that is shown in colour; a longer one is shown plain, and cut."""

_STYLE = "padding:0.6em;overflow-x:auto;line-height:1.35;background:#f8f8f8;color:#222;text-align:left"
"""Light in notebooks of either colour, as the colours of the words are made for that."""


def to_html(node: Any) -> str:
    """A module or expression as `print` shows it, in an element that can stand anywhere on a page."""
    text = text_of(node)
    if len(text) > _LONGEST:
        cut = escape(text[:_LONGEST])
        return f'<pre style="{_STYLE}">{cut}\n… {len(text) - _LONGEST} more characters: print shows them</pre>'
    from pygments import highlight
    from pygments.formatters import HtmlFormatter

    from .lexer import RelayLexer

    inner = highlight(text, RelayLexer(stripnl=False), HtmlFormatter(nowrap=True, noclasses=True))
    return f'<pre style="{_STYLE}">{inner}</pre>'
