"""Colour: one policy for everything that is printed.

`--color=always|never` decides; else `NO_COLOR`, `FORCE_COLOR` and `TERM=dumb` do, as everywhere; else whether the stream is a
terminal. Types in comments are dim, so that on a dark terminal they are not the brightest text, and on a light one are seen.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from typing import Any

import click

from ..visible import visible
from .streams import own_escapes

WHEN = ("auto", "always", "never")
_chosen = "auto"
_is_captured = False
"""True while irtool itself reads the printed text."""

_HEADS = {
    "error": "red",
    "warning": "magenta",
    "notice": "cyan",
    "difference": "yellow",
    "note": "cyan",
    "help": "green",
}
_HEAD = re.compile(rf"^(\S*?:?\d*:?\d*:? ?)\b({'|'.join(_HEADS)})((?:\[\w+\])?):", re.MULTILINE)
_CARETS = re.compile(r"^(\s+)(\^+)$", re.MULTILINE)
_DIFF = (("+++", "bold"), ("---", "bold"), ("@@", "cyan"), ("+", "green"), ("-", "red"))


def choose(when: str) -> None:
    """Says when to colour: `auto`, `always` or `never`."""
    global _chosen
    _chosen = when


@contextlib.contextmanager
def uncoloured() -> Iterator[None]:
    """Commands in the block use no colour without an option for it, with any environment; the choice outside is kept."""
    global _chosen, _is_captured
    before = _chosen, _is_captured
    _chosen, _is_captured = "auto", True
    try:
        yield
    finally:
        _chosen, _is_captured = before


def is_coloured(stream: Any) -> bool:
    """True if text on that stream is coloured."""
    if _chosen != "auto":
        return _chosen == "always"
    if _is_captured or os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return os.environ.get("TERM") != "dumb" and bool(stream.isatty())


def paint_message(text: str) -> str:
    """A diagnostic: its first word, and the carets."""
    text = visible(text)
    text = _HEAD.sub(lambda m: m[1] + click.style(f"{m[2]}{m[3]}:", fg=_HEADS[m[2]], bold=True), text)
    return own_escapes(_CARETS.sub(lambda m: m[1] + click.style(m[2], fg="red", bold=True), text))


def paint_diff(text: str) -> str:
    """Colours a unified diff: removed lines, added lines, and places."""
    return own_escapes("\n".join(map(_paint_diff_line, visible(text).split("\n"))))


def _paint_diff_line(line: str) -> str:
    for head, how in _DIFF:
        if line.startswith(head):
            return click.style(line, bold=True) if how == "bold" else click.style(line, fg=how)
    return line


def paint_relay(text: str) -> str:
    """Relay text: comments, and the types in them, are dim."""
    from pygments import highlight
    from pygments.formatters import TerminalFormatter
    from pygments.formatters.terminal import TERMINAL_COLORS
    from pygments.token import Comment

    from ..printer.lexer import RelayLexer

    colours = {**TERMINAL_COLORS, Comment: ("faint", "faint"), Comment.Preproc: ("faint", "faint")}
    return own_escapes(highlight(visible(text), RelayLexer(), TerminalFormatter(colorscheme=colours)))
