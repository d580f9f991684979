"""Reads Relay text: every form that TVM ever printed, and the dialect of its tutorials.

`relay.lark` is the grammar; `tables` holds its LALR tables, `lexer` splits a text into words, `reader` drives the tables over
them and goes on after errors, `builder` makes the IR nodes, `metadata` reads the section at the end, `text` puts it together.
`symbols` has the referent of each name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..namespace import submodules

if TYPE_CHECKING:
    from .text import parse, parse_expr, read_type, read_with_diagnostics

__all__ = ["parse", "parse_expr", "read_type", "read_with_diagnostics"]

__getattr__ = submodules(__name__, text=__all__)
